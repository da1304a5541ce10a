package main

import (
	"context"
	"crypto/rand"

	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/idempotent"
)

type payment struct {
	Customer, ID string
	Amount       int64
}

type receipt struct{ Charge string }

func key(p payment) (idempotent.Key, error) {
	return idempotent.Key{Scope: p.Customer, ID: p.ID, Payload: p}, nil
}

func createPayment(ctx context.Context, p payment) (receipt, error) {
	id, err := charge(ctx, idempotent.DownstreamKey(ctx, "charge"), p.Amount)
	return receipt{Charge: id}, err
}

// charge stands for a payment provider. The key is the same in every attempt.
func charge(ctx context.Context, key string, amount int64) (string, error) {
	return rand.Text(), nil
}

func main() { dynamoenv.Start("create-payment", key, createPayment) } // the table of $IDEMPOTENCY_TABLE
