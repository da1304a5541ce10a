// Package steps has steps that another attempt does not find, and some that it does.
package steps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lambda-once/once/idempotent"
)

type item struct{ SKU string }

type order struct {
	ID    string
	Gift  bool
	Items []item
	Due   time.Time
	Stock map[string]int
}

func ship(context.Context) (string, error) { return "", errors.New("no ship") }

func key(o order) (idempotent.Key, error) { return idempotent.Key{ID: o.ID}, nil }

func Handlers(x *idempotent.Executor) []any {
	return []any{
		idempotent.Wrap(x, key, twice), idempotent.Wrap(x, key, loops), idempotent.Wrap(x, key, named),
		idempotent.Wrap(x, key, timed), idempotent.Wrap(x, key, mapped), idempotent.Wrap(x, key, chosen),
	}
}

func twice(ctx context.Context, o order) (string, error) {
	if _, err := idempotent.Step(ctx, "ship", ship); err != nil {
		return "", err
	}
	if _, err := idempotent.Step(ctx, "ship", ship); err != nil { // want stepname
		return "", err
	}
	if o.Gift {
		return idempotent.Step(ctx, "wrap", ship) // near stepname
	}
	if _, err := idempotent.Step(ctx, "pack", ship); err != nil {
		return idempotent.Step(ctx, "pack", ship) // near stepname
	}
	return idempotent.Step(ctx, "wrap", func(ctx context.Context) (string, error) {
		return idempotent.Step(ctx, "ship", ship) // near stepname
	})
}

func loops(ctx context.Context, o order) (string, error) {
	for range o.Items {
		if _, err := idempotent.Step(ctx, "ship", ship); err != nil { // want stepname
			return "", err
		}
	}
	for i := range o.Items {
		if _, err := idempotent.Step(ctx, fmt.Sprintf("ship-%d", i), ship); err != nil { // near stepname
			return "", err
		}
	}
	for range 3 {
		if _, err := idempotent.Step(ctx, "retry", ship); err == nil { // near stepname
			return "", nil
		}
	}
	return "", nil
}

func named(ctx context.Context, o order) (string, error) {
	if _, err := idempotent.Step(ctx, "", ship); err != nil { // want stepname
		return "", err
	}
	if _, err := idempotent.Step(ctx, o.ID, ship); err != nil { // want stepname
		return "", err
	}
	for _, i := range o.Items {
		if _, err := idempotent.Step(ctx, i.SKU, ship); err != nil { // want stepname
			return "", err
		}
		if _, err := idempotent.Step(ctx, "pack "+i.SKU, ship); err != nil { // near stepname
			return "", err
		}
	}
	return by(ctx, "helper")
}

func by(ctx context.Context, name string) (string, error) {
	return idempotent.Step(ctx, name, ship) // near stepname
}

func timed(ctx context.Context, o order) (string, error) {
	now := time.Now()
	if now.Hour() < 8 { // want stepchoice
		return idempotent.Step(ctx, "night", ship)
	}
	if o.Due.Hour() < 8 { // near stepchoice
		return idempotent.Step(ctx, "early", ship)
	}
	began, err := idempotent.Step(ctx, "began", func(context.Context) (time.Time, error) { return time.Now(), nil })
	if err != nil {
		return "", err
	}
	if began.Hour() < 8 { // near stepchoice
		return idempotent.Step(ctx, "began early", ship)
	}
	if time.Since(now) > time.Second { // near stepchoice
		return "slow", nil
	}
	return "", nil
}

func mapped(ctx context.Context, o order) (string, error) {
	for sku := range o.Stock { // want stepchoice
		if _, err := idempotent.Step(ctx, "reserve "+sku, ship); err != nil {
			return "", err
		}
	}
	total := 0
	for _, n := range o.Stock { // near stepchoice
		total += n
	}
	for _, sku := range slices.Sorted(maps.Keys(o.Stock)) { // near stepchoice
		if _, err := idempotent.Step(ctx, "sorted "+sku, ship); err != nil {
			return "", err
		}
	}
	return "", nil
}

func chosen(ctx context.Context, o order) (string, error) {
	switch rand.IntN(2) { // want stepchoice
	case 0:
		return idempotent.Step(ctx, "one", ship)
	}
	switch o.ID { // near stepchoice
	case "two":
		return idempotent.Step(ctx, "two", ship)
	}
	if _, err := idempotent.Step(ctx, "ship "+uuid.NewString(), ship); err != nil { // want stepchoice
		return "", err
	}
	name := uuid.NewSHA1(uuid.NameSpaceOID, []byte(o.ID)).String()
	return idempotent.Step(ctx, "ship "+name, ship) // near stepchoice
}
