// Package stepname has names of steps that are refused, and some that are not.
package stepname

import (
	"context"
	"errors"
	"fmt"

	"github.com/lambda-once/once/idempotent"
)

type item struct{ SKU string }

type order struct {
	ID    string
	Gift  bool
	Items []item
}

func ship(context.Context) (string, error) { return "", errors.New("no ship") }

func key(o order) (idempotent.Key, error) { return idempotent.Key{ID: o.ID}, nil }

func Handlers(x *idempotent.Executor) []any {
	return []any{idempotent.Wrap(x, key, twice), idempotent.Wrap(x, key, loops), idempotent.Wrap(x, key, named)}
}

func twice(ctx context.Context, o order) (string, error) {
	if _, err := idempotent.Step(ctx, "ship", ship); err != nil {
		return "", err
	}
	if _, err := idempotent.Step(ctx, "ship", ship); err != nil { // want
		return "", err
	}
	if o.Gift {
		return idempotent.Step(ctx, "wrap", ship) // near
	}
	if _, err := idempotent.Step(ctx, "pack", ship); err != nil {
		return idempotent.Step(ctx, "pack", ship) // near
	}
	return idempotent.Step(ctx, "wrap", func(ctx context.Context) (string, error) {
		return idempotent.Step(ctx, "ship", ship) // near
	})
}

func loops(ctx context.Context, o order) (string, error) {
	for range o.Items {
		if _, err := idempotent.Step(ctx, "ship", ship); err != nil { // want
			return "", err
		}
	}
	for i := range o.Items {
		if _, err := idempotent.Step(ctx, fmt.Sprintf("ship-%d", i), ship); err != nil { // near
			return "", err
		}
	}
	for range 3 {
		if _, err := idempotent.Step(ctx, "retry", ship); err == nil { // near
			return "", nil
		}
	}
	return "", nil
}

func named(ctx context.Context, o order) (string, error) {
	if _, err := idempotent.Step(ctx, "", ship); err != nil { // want
		return "", err
	}
	if _, err := idempotent.Step(ctx, o.ID, ship); err != nil { // want
		return "", err
	}
	for _, i := range o.Items {
		if _, err := idempotent.Step(ctx, i.SKU, ship); err != nil { // want
			return "", err
		}
		if _, err := idempotent.Step(ctx, "pack "+i.SKU, ship); err != nil { // near
			return "", err
		}
	}
	return by(ctx, "helper")
}

func by(ctx context.Context, name string) (string, error) {
	return idempotent.Step(ctx, name, ship) // near
}
