package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// The mark of a nested call's error leaks into the outer call: an attempt that
// charged is given back, and "never run again" runs again.
func TestRetryableLeaksFromANestedCall(t *testing.T) {
	store := memory.New(0)
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
	store := memory.New(0)
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
	ctx, second := adapter.WithEvent(t.Context())
	_, _ = idempotent.Do(ctx, outer, other, handler)
	if first.Outcome != second.Outcome {
		t.Errorf("the inner error first made the outer call %q, and replayed %q", first.Outcome, second.Outcome)
	}
}

// A package-level sentinel that a nested call has met is no mark any more when
// the outer handler itself returns it: its own final error is released.
func TestSentinelMark(t *testing.T) {
	for name, inner := range map[string]error{
		"bare":    errDeclined,
		"wrapped": fmt.Errorf("card: %w", errDeclined),
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New(0)
			outer := newExecutor(t, store, nil)
			in, err := idempotent.New("inner", store, nil)
			if err != nil {
				t.Fatal(err)
			}
			runs := 0
			handler := func(ctx context.Context) (string, error) {
				runs++ // an effect, e.g. the customer is told
				if _, err := idempotent.Do(ctx, in, idempotent.Key{ID: "card"}, failsWith(inner)); err != nil {
					return "", errDeclined // says so itself
				}
				return "", nil
			}
			_, event, _ := do(t.Context(), outer, handler)
			if event.Outcome != idempotent.OutcomeFailed {
				t.Errorf("a permanent error of the handler's own: %q", event.Outcome)
			}
			_, _, err = do(t.Context(), outer, handler)
			if runs != 1 {
				t.Errorf("ran %d times after a permanent error: %v", runs, err)
			}
		})
	}
	t.Run("retryable", func(t *testing.T) {
		store := memory.New(0)
		outer := newExecutor(t, store, &idempotent.Config{MaxAttempts: 1})
		in, err := idempotent.New("inner", store, nil)
		if err != nil {
			t.Fatal(err)
		}
		busy := true
		handler := func(ctx context.Context) (string, error) {
			_, err := idempotent.Do(ctx, in, idempotent.Key{ID: "probe"}, func(context.Context) (string, error) {
				if busy {
					return "", errBusy
				}
				return "", nil
			})
			if err != nil {
				return "", errBusy
			}
			return "done", nil
		}
		_, _, _ = do(t.Context(), outer, handler)
		busy = false
		if _, _, err := do(t.Context(), outer, handler); err != nil {
			t.Errorf("an attempt that the handler itself gave back counts: %v", err)
		}
	})
}

// What an outer handler takes out of a nested call's error is not marked by it
// either: here the error of the inner handler, within that of a step.
func TestMarkWithinANestedErrorDoesNotCount(t *testing.T) {
	store := memory.New(0)
	_, _, err := do(t.Context(), newExecutor(t, store, &idempotent.Config{MaxAttempts: 1}), func(ctx context.Context) (string, error) {
		limited, cancel := context.WithCancel(ctx)
		inner := newExecutor(t, notStepping(memory.New(0), errNetwork), nil)
		_, err := idempotent.Do(limited, inner, idempotent.Key{ID: "inner"}, func(ctx context.Context) (string, error) {
			_, err := idempotent.Step(ctx, "charge", func(context.Context) (string, error) { cancel(); return "", nil })
			return "", fmt.Errorf("charge: %w", idempotent.Retryable(errors.Join(errCrash, err)))
		})
		var failed *idempotent.StoreError
		if !errors.As(err, &failed) || failed.Handler == nil {
			t.Fatalf("the inner call: %v", err)
		}
		return "", failed.Handler
	})
	if r := stored(t, store); err == nil || r.Refunds != 0 {
		t.Errorf("%v, %+v", err, r)
	}
}

// An Unwrap that panics (a typed nil) leaves the record in progress: judge is
// outside of what abandons.
func TestUnwrapPanics(t *testing.T) {
	for name, end := range map[string]error{
		"permanent": idempotent.Permanent((*nilUnwrap)(nil)),
		"plain":     (*nilUnwrap)(nil),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New(0)
				x := newExecutor(t, store, nil)
				runs := 0
				for range 2 {
					func() {
						defer func() {
							if p := recover(); p != nil {
								t.Logf("panicked: %v", p)
							}
						}()
						_, _, _ = do(t.Context(), x, func(context.Context) (string, error) { runs++; return "", end })
					}()
					if r := stored(t, store); r.Status == driver.InProgress && r.Owner != "" {
						t.Errorf("left in progress after the call has ended: %v", r.Lease)
					}
					time.Sleep(2 * time.Minute)
				}
				if name == "permanent" && runs != 1 {
					t.Errorf("a permanent failure ran %d times", runs)
				}
			})
		})
	}
}

var errDeclined = idempotent.Permanent(errors.New("declined"))

var errBusy = idempotent.Retryable(errors.New("busy"))

type nilUnwrap struct{ inner error }

func (e *nilUnwrap) Error() string { return "typed nil" }

func (e *nilUnwrap) Unwrap() error { return e.inner }
