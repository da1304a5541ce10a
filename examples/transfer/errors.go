package main

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent"
)

// Lambda reports the names of these types, and Step Functions match on them.

// An InsufficientFundsError reports that the balance was below the amount.
type InsufficientFundsError struct{}

func (*InsufficientFundsError) Error() string { return "the balance does not cover the amount" }

// An UnknownAccountError reports that one of the accounts does not exist.
type UnknownAccountError struct{ Side string }

func (e *UnknownAccountError) Error() string { return "there is no account to transfer " + e.Side }

// An InvalidTransferError reports that the event is not a valid transfer.
type InvalidTransferError struct{ Reason string }

func (e *InvalidTransferError) Error() string { return e.Reason }

// refusedDebit returns the reason why the debit was refused.
func refusedDebit(met map[string]types.AttributeValue) error {
	if len(met) == 0 {
		return idempotent.Permanent(&UnknownAccountError{Side: "from"})
	}
	return idempotent.Permanent(&InsufficientFundsError{})
}

// refusedCredit returns the reason why the credit was refused.
func refusedCredit() error { return idempotent.Permanent(&UnknownAccountError{Side: "to"}) }
