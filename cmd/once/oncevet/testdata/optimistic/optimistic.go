// Package optimistic has optimistic executors with handlers that are and are not made for it.
package optimistic

import (
	"context"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

type order struct{ ID string }

type sender interface {
	Send(context.Context, string) error
}

func key(o order) (idempotent.Key, error) { return idempotent.Key{ID: o.ID}, nil }

func Handlers(store driver.Store, s sender) ([]any, error) {
	x, err := idempotent.New("order", store, &idempotent.Config{Optimistic: true})
	if err != nil {
		return nil, err
	}
	claims, err := idempotent.New("order", store, &idempotent.Config{Optimistic: false})
	if err != nil {
		return nil, err
	}
	return []any{
		idempotent.WrapEffect(x, key, func(context.Context, order) error { return nil }),                     // want
		idempotent.WrapEffect(claims, key, func(context.Context, order) error { return nil }),                // near
		idempotent.WrapEffect(x, key, collects),                                                              // near
		idempotent.WrapEffect(x, key, func(ctx context.Context, o order) error { return s.Send(ctx, o.ID) }), // near
		idempotent.WrapEffect(x, key, func(ctx context.Context, o order) error {
			dynamo.Collect(ctx).Put("orders", o)
			return s.Send(ctx, idempotent.DownstreamKey(ctx, "send")) // want
		}),
		idempotent.WrapEffect(claims, key, func(ctx context.Context, o order) error {
			return s.Send(ctx, idempotent.DownstreamKey(ctx, "send")) // near
		}),
	}, nil
}

func collects(ctx context.Context, o order) error {
	put(ctx, o)
	return nil
}

func put(ctx context.Context, o order) { dynamo.Collect(ctx).Put("orders", o) }
