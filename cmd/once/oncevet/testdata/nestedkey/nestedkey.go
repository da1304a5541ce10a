// Package nestedkey has calls within a call, on its key and on others.
package nestedkey

import (
	"context"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
)

type order struct {
	ID    string
	Lines []order
}

func key(o order) (idempotent.Key, error) { return idempotent.Key{ID: o.ID, Payload: o}, nil }

func work(context.Context) (string, error) { return "", nil }

func Handlers(x, other *idempotent.Executor) []any {
	return []any{
		idempotent.Wrap(x, idempotent.Field(func(o order) string { return o.ID }), func(ctx context.Context, o order) (string, error) {
			return idempotent.Do(ctx, x, idempotent.Key{ID: o.ID}, work) // want
		}),
		idempotent.Wrap(x, key, func(ctx context.Context, o order) (string, error) {
			for _, line := range o.Lines {
				if _, err := idempotent.Do(ctx, x, idempotent.Key{ID: line.ID}, work); err != nil { // near
					return "", err
				}
			}
			return idempotent.Do(ctx, other, idempotent.Key{ID: o.ID}, work) // near
		}),
		handlers.SQS(x, func(m handlers.SQSMessage[order]) (idempotent.Key, error) { return key(m.Body) }, func(ctx context.Context, m handlers.SQSMessage[order]) error {
			_, err := idempotent.Do(ctx, x, idempotent.Key{Scope: "lines", ID: m.Body.ID}, work) // near
			return err
		}, nil),
		idempotent.Wrap(x, key, func(ctx context.Context, o order) (string, error) {
			k, err := key(o)
			if err != nil {
				return "", err
			}
			return idempotent.Do(ctx, x, k, work) // want
		}),
	}
}

func Handle(ctx context.Context, x *idempotent.Executor, o order) (string, error) {
	k := idempotent.Key{ID: o.ID}
	return idempotent.Do(ctx, x, k, func(ctx context.Context) (string, error) {
		if _, err := idempotent.Do(ctx, x, idempotent.Key{ID: o.ID + "/lines"}, work); err != nil { // near
			return "", err
		}
		return idempotent.Do(ctx, x, k, work) // want
	})
}
