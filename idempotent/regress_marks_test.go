package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lambda-once/once/idempotent"
)

// The mark of a nested call's error leaks into the outer call: an attempt that
// charged is given back, and "never run again" runs again.
func TestRetryableLeaksFromANestedCall(t *testing.T) {
	store := idempotent.NewMemory(0)
	outer := newExecutor(t, store, &idempotent.Config{MaxAttempts: 1})
	inner, err := idempotent.New("inner", store, nil)
	if err != nil {
		t.Fatal(err)
	}
	charges := 0
	handler := func(ctx context.Context) (string, error) {
		charges++ // the outer effect
		_, err := idempotent.Do(ctx, inner, idempotent.Key{ID: "mail"}, func(context.Context) (string, error) {
			return "", fmt.Errorf("mail: %w", idempotent.Retryable(errors.New("busy")))
		})
		return "", err
	}
	_, _, _ = do(t.Context(), outer, handler)
	_, _, err = do(t.Context(), outer, handler)
	if !errors.Is(err, idempotent.ErrOutcomeUnknown) || charges != 1 {
		t.Errorf("MaxAttempts 1: %d charges, %v", charges, err)
	}
}

func TestPermanentLeaksFromANestedCall(t *testing.T) {
	store := idempotent.NewMemory(0)
	outer := newExecutor(t, store, nil)
	inner, err := idempotent.New("inner", store, nil)
	if err != nil {
		t.Fatal(err)
	}
	handler := func(ctx context.Context) (string, error) {
		return idempotent.Do(ctx, inner, idempotent.Key{ID: "mail"}, func(context.Context) (string, error) {
			return "", fmt.Errorf("mail: %w", idempotent.Permanent(errors.New("no such address")))
		})
	}
	_, first, _ := do(t.Context(), outer, handler)
	other := theKey
	other.ID = "another order, same mail"
	ctx, second := idempotent.WithEvent(t.Context())
	_, _ = idempotent.Do(ctx, outer, other, handler)
	if first.Outcome != second.Outcome {
		t.Errorf("the inner error first made the outer call %q, and replayed %q", first.Outcome, second.Outcome)
	}
}
