package main

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/postgres"
)

// A transfer is the event.
type transfer struct {
	TransferID string `json:"transferId"`
	From       string `json:"from"`
	To         string `json:"to"`
	Amount     int64  `json:"amount"` // in the currency's smallest unit
}

// key is the caller's own ID. The same ID with different accounts or a different
// amount is a mismatch.
func key(t transfer) (idempotent.Key, error) {
	return idempotent.Key{ID: t.TransferID, Payload: t}, nil
}

// A notice is the job that tells the receiver of a transfer. ID is the receiver's
// idempotency key: it is stored with the job, so that each attempt to send has the same.
type notice struct {
	ID       string   `json:"id"`
	Transfer transfer `json:"transfer"`
}

func (notice) Kind() string { return "transfer-notice" }

type bank struct {
	queue *river.Client[pgx.Tx]
}

// newBank returns a bank whose client of River only inserts. It needs no connection,
// because each InsertTx has its own.
func newBank() (*bank, error) {
	queue, err := river.NewClient(riverpgxv5.New(nil), &river.Config{})
	return &bank{queue}, err
}

// transfer runs in the transaction in which its call completes. The accounts change,
// the notice is enqueued and the call completes, or none of it happens.
//
// Each attempt makes a new ID for the notice, and only one attempt commits. The
// database's own number of a job would not do: after a restore from a backup, new jobs
// receive numbers that the receiver has already seen.
func (b *bank) transfer(ctx context.Context, t transfer) (transfer, error) {
	tx, err := postgres.Transaction(ctx)
	if err != nil {
		return transfer{}, err
	}
	if err := move(ctx, tx, t); err != nil {
		return transfer{}, err
	}
	_, err = b.queue.InsertTx(ctx, tx, notice{ID: rand.Text(), Transfer: t}, nil)
	return t, err
}

type change struct {
	account string
	amount  int64
}

// move changes the two accounts.
func move(ctx context.Context, tx pgx.Tx, t transfer) error {
	if t.From == "" || t.To == "" || t.From == t.To || t.Amount <= 0 {
		return idempotent.Permanent(&InvalidTransferError{})
	}
	changes := []change{{t.From, -t.Amount}, {t.To, t.Amount}}
	if t.To < t.From {
		slices.Reverse(changes) // always in the same order, so that transfers do not deadlock
	}
	for _, change := range changes {
		tag, err := tx.Exec(ctx, "UPDATE accounts SET balance = balance + $2 WHERE id = $1", change.account, change.amount)
		if violated, ok := errors.AsType[*pgconn.PgError](err); ok && violated.ConstraintName == "accounts_balance_check" {
			return idempotent.Permanent(&InsufficientFundsError{})
		}
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return idempotent.Permanent(&UnknownAccountError{})
		}
	}
	return nil
}

// Lambda reports the names of these types, and Step Functions match on them.

// An InsufficientFundsError reports that the balance was below the amount.
type InsufficientFundsError struct{}

func (*InsufficientFundsError) Error() string { return "the balance does not cover the amount" }

// An UnknownAccountError reports that one of the accounts does not exist.
type UnknownAccountError struct{}

func (*UnknownAccountError) Error() string { return "one of the accounts does not exist" }

// An InvalidTransferError reports that the event is not a valid transfer.
type InvalidTransferError struct{}

func (*InvalidTransferError) Error() string {
	return "a transfer needs two different accounts and an amount above 0"
}
