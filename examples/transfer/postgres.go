package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/examples/internal/program"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/postgres"
)

// ledger has a table of accounts in PostgreSQL, and the records in the same database.
type ledger struct {
	pool  *pgxpool.Pool
	mode  string
	delay time.Duration
}

// openLedger connects to nothing before the first call.
func openLedger(ctx context.Context, url, records string, b *bank) (*ledger, *postgres.Store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	// One for the transaction of a call, and one for anything beside it: an execution
	// environment has one invocation at a time.
	config.MaxConns = 2
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	store, err := postgres.New(pool, records, nil)
	return &ledger{pool: pool, mode: b.mode, delay: b.delay}, store, err
}

func (l *ledger) transfer(ctx context.Context, t transfer) (receipt, error) {
	var move func(context.Context, transfer) error
	switch l.mode {
	case plain:
		move = l.inTwoUpdates
	case transactional:
		move = l.inItsTransaction
	default:
		move = l.collected
	}
	err := t.check()
	if err == nil {
		err = move(ctx, t)
	}
	return receipt{transfer: t, Status: "transferred"}, err
}

const (
	debit  = "UPDATE accounts SET balance = balance - $2 WHERE id = $1"
	credit = "UPDATE accounts SET balance = balance + $2 WHERE id = $1"
)

// inItsTransaction runs in the transaction in which the call completes. It reads its own
// writes, and holds a connection meanwhile.
func (l *ledger) inItsTransaction(ctx context.Context, t transfer) error {
	tx, err := postgres.Transaction(ctx)
	if err != nil {
		return err
	}
	return l.inTwo(ctx, t, tx.Exec)
}

// inTwoUpdates is a mistake, even behind a claim: a crash between the updates leaves
// half a transfer, and the retry debits once more.
func (l *ledger) inTwoUpdates(ctx context.Context, t transfer) error {
	return l.inTwo(ctx, t, l.pool.Exec)
}

func (l *ledger) inTwo(ctx context.Context, t transfer, exec func(context.Context, string, ...any) (pgconn.CommandTag, error)) error {
	tag, err := exec(ctx, debit, t.From, t.Amount)
	if violated, ok := errors.AsType[*pgconn.PgError](err); ok && violated.ConstraintName == "accounts_balance_check" {
		return idempotent.Permanent(&InsufficientFundsError{})
	}
	switch {
	case err != nil:
		return err
	case tag.RowsAffected() == 0:
		return idempotent.Permanent(&UnknownAccountError{Side: "from"})
	}
	if err := program.Pause(ctx, l.delay); err != nil {
		return err
	}
	tag, err = exec(ctx, credit, t.To, t.Amount)
	if err == nil && tag.RowsAffected() == 0 {
		return refusedCredit() // the debit is undone in a transaction, and lost without one
	}
	return err
}

// collected writes nothing itself, and holds no connection. Its statements are run
// together with the completion of the call, when it has returned.
func (l *ledger) collected(ctx context.Context, t transfer) error {
	tx := postgres.Collect(ctx)
	tx.Check(func(*postgres.TransactionError) error {
		return idempotent.Permanent(&UnknownAccountError{Side: "from"})
	},
		"SELECT FROM accounts WHERE id = $1", t.From)
	tx.Require(func(*postgres.TransactionError) error { return idempotent.Permanent(&InsufficientFundsError{}) },
		debit+" AND balance >= $2", t.From, t.Amount)
	tx.Require(func(*postgres.TransactionError) error { return refusedCredit() },
		credit, t.To, t.Amount)
	return program.Pause(ctx, l.delay)
}
