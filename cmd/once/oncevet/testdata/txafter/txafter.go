// Package txafter has transactions that leave their handler, and some that stay.
package txafter

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/postgres"
)

type order struct{ ID string }

type app struct{ tx *dynamo.Tx }

var last *dynamo.Tx

func key(o order) (idempotent.Key, error) { return idempotent.Key{ID: o.ID}, nil }

func Handlers(x *idempotent.Executor, a *app) []any {
	var kept pgx.Tx
	return []any{
		idempotent.WrapEffect(x, key, apart),
		idempotent.WrapEffect(x, key, waits),
		idempotent.WrapEffect(x, key, a.keeps),
		idempotent.WrapEffect(x, key, func(ctx context.Context, o order) (err error) {
			kept, err = postgres.Transaction(ctx)
			last = dynamo.Collect(ctx) // want
			_ = kept
			return err
		}),
	}
}

func apart(ctx context.Context, o order) error {
	tx := dynamo.Collect(ctx)
	go func() {
		tx.Put("orders", o) // want
	}()
	go func() {
		println(o.ID) // near
	}()
	return nil
}

func waits(ctx context.Context, o order) error {
	tx := postgres.Collect(ctx)
	var group sync.WaitGroup
	group.Add(1)
	go func() {
		defer group.Done()
		tx.Exec("INSERT INTO orders VALUES ($1)", o.ID) // near
	}()
	group.Wait()
	return nil
}

func (a *app) keeps(ctx context.Context, o order) error {
	a.tx = dynamo.Collect(ctx) // want
	tx := dynamo.Collect(ctx)
	again := tx // near
	again.Put("orders", o)
	var local struct{ tx *dynamo.Tx }
	local.tx = tx // near
	local.tx.Put("orders", o)
	return nil
}
