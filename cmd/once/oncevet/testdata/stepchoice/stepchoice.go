// Package stepchoice has steps that the time, chance or a map decides on, and some that
// the request does.
package stepchoice

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"maps"

	"github.com/google/uuid"

	"github.com/lambda-once/once/idempotent"
)

type order struct {
	ID    string
	Due   time.Time
	Stock map[string]int
}

func ship(context.Context) (string, error) { return "", nil }

func key(o order) (idempotent.Key, error) { return idempotent.Key{ID: o.ID}, nil }

func Handlers(x *idempotent.Executor) []any {
	return []any{idempotent.Wrap(x, key, timed), idempotent.Wrap(x, key, mapped), idempotent.Wrap(x, key, chosen)}
}

func timed(ctx context.Context, o order) (string, error) {
	now := time.Now()
	if now.Hour() < 8 { // want
		return idempotent.Step(ctx, "night", ship)
	}
	if o.Due.Hour() < 8 { // near
		return idempotent.Step(ctx, "early", ship)
	}
	began, err := idempotent.Step(ctx, "began", func(context.Context) (time.Time, error) { return time.Now(), nil })
	if err != nil {
		return "", err
	}
	if began.Hour() < 8 { // near
		return idempotent.Step(ctx, "began early", ship)
	}
	if time.Since(now) > time.Second { // near
		return "slow", nil
	}
	return "", nil
}

func mapped(ctx context.Context, o order) (string, error) {
	for sku := range o.Stock { // want
		if _, err := idempotent.Step(ctx, "reserve "+sku, ship); err != nil {
			return "", err
		}
	}
	total := 0
	for _, n := range o.Stock { // near
		total += n
	}
	for _, sku := range slices.Sorted(maps.Keys(o.Stock)) { // near
		if _, err := idempotent.Step(ctx, "sorted "+sku, ship); err != nil {
			return "", err
		}
	}
	return "", nil
}

func chosen(ctx context.Context, o order) (string, error) {
	switch rand.IntN(2) { // want
	case 0:
		return idempotent.Step(ctx, "one", ship)
	}
	switch o.ID { // near
	case "two":
		return idempotent.Step(ctx, "two", ship)
	}
	if _, err := idempotent.Step(ctx, "ship "+uuid.NewString(), ship); err != nil { // want
		return "", err
	}
	name := uuid.NewSHA1(uuid.NameSpaceOID, []byte(o.ID)).String()
	return idempotent.Step(ctx, "ship "+name, ship) // near
}
