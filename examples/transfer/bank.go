package main

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent"
)

// transfer is the event.
type transfer struct {
	TransferID string `json:"transferId"`
	From       string `json:"from"`
	To         string `json:"to"`
	Amount     int64  `json:"amount"` // in the currency's smallest unit
}

// receipt is the response. It has no balances, which are known only after the commit
// and may have changed since.
type receipt struct {
	transfer
	Status string `json:"status"`
}

// The values of TRANSFER_MODE.
const (
	transactional = "transactional"
	collected     = "collected" // with PostgreSQL only
	optimistic    = "optimistic"
	plain         = "plain"
	byHand        = "by-hand" // without Once
)

// bank has a table of accounts.
type bank struct {
	client *dynamodb.Client
	table  string
	mode   string
	delay  time.Duration
}

func (b *bank) transfer(ctx context.Context, t transfer) (receipt, error) {
	move := b.inOneTransaction
	if b.mode == plain {
		move = b.inTwoUpdates
	}
	err := t.check()
	if err == nil {
		err = move(ctx, t)
	}
	return receipt{transfer: t, Status: "transferred"}, err
}

// check refuses a transfer that no state of the accounts could allow.
func (t transfer) check() error {
	reason := ""
	switch {
	case t.From == "" || t.To == "":
		reason = "a transfer needs two accounts"
	case t.From == t.To:
		reason = "a transfer needs two different accounts"
	case t.Amount <= 0:
		reason = "the amount is not above 0"
	default:
		return nil
	}
	return idempotent.Permanent(&InvalidTransferError{Reason: reason})
}

// account returns the key of an item.
func account(id string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}
}

var (
	balance = expression.Name("balance")
	exists  = expression.AttributeExists(expression.Name("id"))
)

// change adds an amount, which may be negative, to a balance.
func change(amount int64) expression.UpdateBuilder {
	return expression.Add(balance, expression.Value(amount))
}

func covers(amount int64) expression.ConditionBuilder {
	return exists.And(balance.GreaterThanEqual(expression.Value(amount)))
}
