// Package durable has calls around operations of a durable execution, and within them.
package durable

import (
	"context"
	"time"

	"github.com/lambda-once/once/cmd/once/oncevet/testdata/aws-durable-execution-sdk-go/durable"
	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/idempotent"
)

func pay(d durable.Context, x *idempotent.Executor, id string) (string, error) {
	return idempotent.Do(d, x, idempotent.Key{ID: id}, func(ctx context.Context) (string, error) {
		if err := durable.Wait(d, "settled", time.Hour); err != nil { // want
			return "", err
		}
		return durable.Step(d, "charge", func(context.Context) (string, error) { return "", nil }) // want
	})
}

func payOnce(d durable.Context, x *idempotent.Executor, id string) (string, error) {
	if err := durable.Wait(d, "settled", time.Hour); err != nil { // near
		return "", err
	}
	return durable.Step(d, "charge", func(ctx context.Context) (string, error) { // near
		return idempotent.Do(durablefunc.InStep(ctx, "charge"), x, idempotent.Key{ID: id}, func(context.Context) (string, error) { return "", nil })
	})
}
