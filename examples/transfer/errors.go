package main

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent"
)

// Lambda reports the names of these types, and Step Functions match on them.

// InsufficientFundsError means that the balance was below the amount.
type InsufficientFundsError struct{}

func (*InsufficientFundsError) Error() string { return "the balance does not cover the amount" }

// UnknownAccountError means that one of the accounts does not exist.
type UnknownAccountError struct{ Side string }

func (e *UnknownAccountError) Error() string { return "there is no account to transfer " + e.Side }

// InvalidTransferError means that the event is no transfer.
type InvalidTransferError struct{ Reason string }

func (e *InvalidTransferError) Error() string { return e.Reason }

// refusedDebit is why the account that pays, as it was met, has not paid.
func refusedDebit(met map[string]types.AttributeValue) error {
	if len(met) == 0 {
		return idempotent.Permanent(&UnknownAccountError{Side: "from"})
	}
	return idempotent.Permanent(&InsufficientFundsError{})
}

// refusedCredit is why the other one has not been paid.
func refusedCredit() error { return idempotent.Permanent(&UnknownAccountError{Side: "to"}) }
