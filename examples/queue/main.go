// Command queue is two Lambda functions that share a database in PostgreSQL. One is
// invoked directly: it transfers money between two accounts, and enqueues a notice about
// the transfer, once for each transfer ID. The second is invoked on a schedule: it sends
// the notices to a receiver. The queue is River, https://riverqueue.com. The stack of the
// examples has no PostgreSQL, and does not deploy them.
//
// The event of a transfer is JSON, and that of the schedule is not read:
//
//	{"transferId": "t-17", "from": "alice", "to": "bob", "amount": 100}
//
// A refused transfer is a permanent failure, and a duplicate receives the same error:
// InsufficientFundsError, UnknownAccountError or InvalidTransferError.
//
// Environment:
//
//	DATABASE_URL  the database. It has the tables of schema.sql, and those of River, which
//	              "river migrate-up" creates
//	RECEIVER_URL  where notices are sent, by POST. With it, the function is the scheduled
//	              one; without it, the second
//	JOB_TIMEOUT   the time to send a notice; at least 1s, default 10s. The timeout of the scheduled
//	              function must be longer
//	RESCUE_AFTER  the time after which a notice is sent again whose process was killed. It
//	              must be longer than JOB_TIMEOUT; default 5m. River's own default is 1h
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/examples/internal/program"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/postgres"
)

func main() { program.Start(setUp) }

func setUp(ctx context.Context) (handler any, err error) {
	if url := os.Getenv("RECEIVER_URL"); url != "" {
		return scheduled(ctx, url)
	}
	// The transaction of the call uses one connection, and everything beside it the
	// second.
	pool, err := open(ctx, 2)
	if err != nil {
		return nil, err
	}
	store, err := postgres.New(pool, "idempotency", nil)
	if err != nil {
		return nil, err
	}
	x, err := idempotent.New("transfer", store, nil)
	if err != nil {
		return nil, err
	}
	b, err := newBank()
	if err != nil {
		return nil, err
	}
	return handlers.Invoke(x, key, b.transfer), nil
}

func scheduled(ctx context.Context, url string) (handler any, err error) {
	s := &sender{url: url}
	if s.timeout, err = program.Duration("JOB_TIMEOUT", 10*time.Second, time.Second); err != nil {
		return nil, err
	}
	if s.rescueAfter, err = program.Duration("RESCUE_AFTER", 5*time.Minute, time.Second); err != nil {
		return nil, err
	}
	if s.rescueAfter <= s.timeout {
		return nil, fmt.Errorf("RESCUE_AFTER is %v, and must be longer than JOB_TIMEOUT, %v", s.rescueAfter, s.timeout)
	}
	// River runs queries of its own at the same time.
	if s.pool, err = open(ctx, 4); err != nil {
		return nil, err
	}
	return s.run, nil
}

// open connects to nothing before the first call.
func open(ctx context.Context, connections int32) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	config.MaxConns = connections
	return pgxpool.NewWithConfig(ctx, config)
}
