// Command transfer is a Lambda function that is invoked directly. It transfers money
// between two accounts once for each transfer ID. The accounts change and the call
// completes in one transaction, or not at all.
//
// The event is JSON:
//
//	{"transferId": "t-17", "from": "alice", "to": "bob", "amount": 100}
//
// A refused transfer is a permanent failure, and a duplicate receives the same error:
// InsufficientFundsError, UnknownAccountError or InvalidTransferError.
//
// Its metrics go to standard output, in CloudWatch's Embedded Metric Format, and
// its log to standard error; on Lambda both are its log stream.
//
// Environment:
//
//	IDEMPOTENCY_TABLE  table of the idempotency records
//	ACCOUNTS_TABLE     table of the accounts: an item {id, balance} each, id a string
//	                   and balance a number
//	DATABASE_URL       a PostgreSQL database, in place of DynamoDB. It has the tables of
//	                   schema.sql; ACCOUNTS_TABLE is not read
//	TRANSFER_MODE      "transactional" (default): claimed first, then committed;
//	                   "optimistic": one request, no claim; "plain": one update for each
//	                   account, which shows the failures without a transaction; "by-hand":
//	                   without Once, which shows those without a fence. With PostgreSQL,
//	                   there is no "by-hand", "transactional" holds a connection while it
//	                   runs, and "collected" is the same without one
//	TRANSFER_DELAY     a pause before the commit, in plain mode between the updates,
//	                   e.g. 200ms; default none
//	AWS_LAMBDA_LOG_LEVEL, AWS_ENDPOINT_URL_DYNAMODB and the SDK's own
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/examples/internal/program"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

func main() { program.Start(setUp) }

type handler = func(context.Context, transfer) (receipt, error)

func setUp(ctx context.Context) (handler, error) {
	observer, err := program.Observer()
	if err != nil {
		return nil, err
	}
	move, store, mode, err := open(ctx)
	if err != nil {
		return nil, err
	}
	x, err := idempotent.New("transfer", store, &idempotent.Config{
		Observer:   observer,
		Optimistic: mode == optimistic,
	})
	if err != nil {
		return nil, err
	}
	if mode == byHand {
		return move, nil
	}
	return handlers.Invoke(x, key, move), nil
}

// open opens the accounts and the records, in DynamoDB or in PostgreSQL.
func open(ctx context.Context) (move handler, store driver.Store, mode string, err error) {
	url := os.Getenv("DATABASE_URL")
	b, err := newBank(url != "")
	if err != nil {
		return nil, nil, "", err
	}
	if url != "" {
		ledger, store, err := openLedger(ctx, url, os.Getenv(dynamoenv.TableVariable), b)
		if err != nil {
			return nil, nil, "", err
		}
		return ledger.transfer, store, b.mode, nil
	}
	if b.client, err = dynamoenv.Client(ctx); err != nil {
		return nil, nil, "", err
	}
	records, err := dynamoenv.Open(ctx, &dynamoenv.Options{Client: b.client})
	if err != nil {
		return nil, nil, "", err
	}
	if b.mode == byHand {
		return b.transferByHand, records, b.mode, nil
	}
	return b.transfer, records, b.mode, nil
}

// key is the caller's own ID. The same ID with different accounts or a different
// amount is a mismatch.
func key(t transfer) (idempotent.Key, error) {
	return idempotent.Key{ID: t.TransferID, Payload: t}, nil
}

func newBank(postgres bool) (*bank, error) {
	b := &bank{table: os.Getenv("ACCOUNTS_TABLE"), mode: os.Getenv("TRANSFER_MODE")}
	if b.table == "" && !postgres {
		return nil, fmt.Errorf("ACCOUNTS_TABLE is not set")
	}
	switch {
	case b.mode == "":
		b.mode = transactional
	case b.mode == transactional, b.mode == optimistic, b.mode == plain, b.mode == collected && postgres, b.mode == byHand && !postgres:
	default:
		return nil, fmt.Errorf("TRANSFER_MODE is %q, want transactional, optimistic, plain, with DATABASE_URL collected, or without it by-hand", b.mode)
	}
	var err error
	b.delay, err = program.Duration("TRANSFER_DELAY", 0, 0)
	return b, err
}
