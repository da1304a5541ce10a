// Package invocation has handlers that use what is not of their invocation, and some
// that use what is.
package invocation

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/jackc/pgx/v5"

	"github.com/lambda-once/once/cmd/once/oncevet/testdata/aws-durable-execution-sdk-go/durable"
	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/postgres"
)

type order struct{ ID string }

type app struct{ tx *dynamo.Tx }

var last *dynamo.Tx

func key(o order) (idempotent.Key, error) { return idempotent.Key{ID: o.ID}, nil }

func Transactions(x *idempotent.Executor, a *app) []any {
	var kept pgx.Tx
	return []any{
		idempotent.WrapEffect(x, key, apart),
		idempotent.WrapEffect(x, key, waits),
		idempotent.WrapEffect(x, key, a.keeps),
		idempotent.WrapEffect(x, key, func(ctx context.Context, o order) (err error) {
			kept, err = postgres.Transaction(ctx)
			last = dynamo.Collect(ctx) // want txafter
			_ = kept
			return err
		}),
	}
}

func apart(ctx context.Context, o order) error {
	tx := dynamo.Collect(ctx)
	go func() {
		tx.Put("orders", o) // want txafter
	}()
	go func() {
		println(o.ID) // near txafter
	}()
	return nil
}

func waits(ctx context.Context, o order) error {
	tx := postgres.Collect(ctx)
	var group sync.WaitGroup
	group.Add(1)
	go func() {
		defer group.Done()
		tx.Exec("INSERT INTO orders VALUES ($1)", o.ID) // near txafter
	}()
	group.Wait()
	return nil
}

func (a *app) keeps(ctx context.Context, o order) error {
	a.tx = dynamo.Collect(ctx) // want txafter
	tx := dynamo.Collect(ctx)
	again := tx // near txafter
	again.Put("orders", o)
	var local struct{ tx *dynamo.Tx }
	local.tx = tx // near txafter
	local.tx.Put("orders", o)
	return nil
}

func Contexts(x *idempotent.Executor, db *dynamodb.Client) []any {
	return []any{
		idempotent.WrapEffect(x, key, func(ctx context.Context, o order) error {
			_, err := db.GetItem(context.Background(), &dynamodb.GetItemInput{}) // want context
			if err != nil {
				return err
			}
			defer func() {
				cleanup, cancel := context.WithTimeout(context.Background(), time.Second) // near context
				defer cancel()
				_, _ = db.DeleteItem(cleanup, &dynamodb.DeleteItemInput{})
			}()
			_, err = db.GetItem(context.WithoutCancel(ctx), &dynamodb.GetItemInput{}) // near context
			return err
		}),
		idempotent.WrapEffect(x, key, func(ctx context.Context, o order) error { return read(ctx, db) }),
	}
}

func read(ctx context.Context, db *dynamodb.Client) error {
	bounded, cancel := context.WithTimeout(context.TODO(), time.Second) // want context
	defer cancel()
	_, err := db.GetItem(bounded, &dynamodb.GetItemInput{})
	return err
}

func Prepare(db *dynamodb.Client) error {
	_, err := db.GetItem(context.Background(), &dynamodb.GetItemInput{}) // near context
	return err
}

var store = memory.New(0)

func work(context.Context) (string, error) { return "", nil }

func handle(ctx context.Context, e events.SQSMessage) (string, error) {
	x, err := idempotent.New("work", store, nil) // want executor
	if err != nil {
		return "", err
	}
	return idempotent.Do(ctx, x, idempotent.Key{ID: e.MessageId}, work)
}

func SetUp() {
	x, err := idempotent.New("work", store, nil) // near executor
	if err != nil {
		panic(err)
	}
	lambda.Start(idempotent.Wrap(x, idempotent.Field(func(s string) string { return s }), func(ctx context.Context, s string) (string, error) {
		return inner(ctx, s)
	}))
	lambda.StartWithOptions(handle)
}

func inner(ctx context.Context, s string) (string, error) {
	y, err := idempotent.New("inner", store, nil) // want executor
	if err != nil {
		return "", err
	}
	return idempotent.Do(ctx, y, idempotent.Key{ID: s}, work)
}

// Make returns a handler, and makes its executor before that.
func Make() func(context.Context, string) (string, error) {
	x, err := idempotent.New("made", store, nil) // near executor
	return func(ctx context.Context, s string) (string, error) {
		if err != nil {
			return "", err
		}
		return idempotent.Do(ctx, x, idempotent.Key{ID: s}, work)
	}
}

type sender interface {
	Send(context.Context, string) error
}

func Optimistic(store driver.Store, s sender) ([]any, error) {
	x, err := idempotent.New("order", store, &idempotent.Config{Optimistic: true})
	if err != nil {
		return nil, err
	}
	claims, err := idempotent.New("order", store, &idempotent.Config{Optimistic: false})
	if err != nil {
		return nil, err
	}
	return []any{
		idempotent.WrapEffect(x, key, func(context.Context, order) error { return nil }),                     // want optimistic
		idempotent.WrapEffect(claims, key, func(context.Context, order) error { return nil }),                // near optimistic
		idempotent.WrapEffect(x, key, collects),                                                              // near optimistic
		idempotent.WrapEffect(x, key, func(ctx context.Context, o order) error { return s.Send(ctx, o.ID) }), // near optimistic
		idempotent.WrapEffect(x, key, func(ctx context.Context, o order) error {
			dynamo.Collect(ctx).Put("orders", o)
			return s.Send(ctx, idempotent.DownstreamKey(ctx, "send")) // want optimistic
		}),
		idempotent.WrapEffect(claims, key, func(ctx context.Context, o order) error {
			return s.Send(ctx, idempotent.DownstreamKey(ctx, "send")) // near optimistic
		}),
	}, nil
}

func collects(ctx context.Context, o order) error {
	put(ctx, o)
	return nil
}

func put(ctx context.Context, o order) { dynamo.Collect(ctx).Put("orders", o) }

func pay(d durable.Context, x *idempotent.Executor, id string) (string, error) {
	return idempotent.Do(d, x, idempotent.Key{ID: id}, func(ctx context.Context) (string, error) {
		if err := durable.Wait(d, "settled", time.Hour); err != nil { // want durable
			return "", err
		}
		return durable.Step(d, "charge", func(context.Context) (string, error) { return "", nil }) // want durable
	})
}

func payOnce(d durable.Context, x *idempotent.Executor, id string) (string, error) {
	if err := durable.Wait(d, "settled", time.Hour); err != nil { // near durable
		return "", err
	}
	return durable.Step(d, "charge", func(ctx context.Context) (string, error) { // near durable
		return idempotent.Do(durablefunc.InStep(ctx, "charge"), x, idempotent.Key{ID: id}, func(context.Context) (string, error) { return "", nil })
	})
}
