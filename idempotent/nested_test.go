package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// A nested call on the key of its own context would wait for itself.
func TestNestedCallOnItsOwnKeyIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, memory.New(0), &idempotent.Config{Wait: time.Hour})
		begun := time.Now()
		_, _, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
			_, event, err := do(ctx, x, mustNotRun(t))
			if !errors.Is(err, idempotent.ErrNestedCall) || event.RoundTrips != 0 || time.Since(begun) != 0 {
				t.Errorf("after %v: %v, %+v", time.Since(begun), err, event)
			}
			if errors.Is(err, idempotent.ErrInProgress) || event.Outcome != idempotent.OutcomeFailed ||
				strings.Contains(err.Error(), "retry") || !strings.Contains(err.Error(), `"op"`) {
				t.Errorf("a call that can never succeed: %v, %+v", err, event)
			}
			other := theKey
			other.ID = "another"
			if _, err := idempotent.Do(ctx, x, other, returns("inner")); err != nil {
				t.Errorf("another key: %v", err)
			}
			elsewhere := newExecutor(t, memory.New(0), nil)
			if _, err := idempotent.Do(ctx, elsewhere, theKey, returns("inner")); err != nil {
				t.Errorf("another store: %v", err)
			}
			return "", nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A nested call on the key of its own context is refused, also when the outer
// call failed open. It does not wait for itself.
func TestNestedCallOnItsOwnKeyIsRefusedUnderFailOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &proxy{Store: memory.New(0), create: func(context.Context, driver.Record, time.Time, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			return driver.Record{}, false, errNetwork
		}}
		x := newExecutor(t, store, &idempotent.Config{OnStoreError: idempotent.FailOpen, Wait: time.Hour})
		_, _, _ = do(t.Context(), x, func(ctx context.Context) (string, error) {
			begun := time.Now()
			_, err := idempotent.Do(ctx, x, theKey, mustNotRun(t))
			if !errors.Is(err, idempotent.ErrNestedCall) || time.Since(begun) > time.Second {
				t.Errorf("after %v: %v", time.Since(begun), err)
			}
			return "", nil
		})
	})
}

// A nested call has an earlier deadline than the invocation, and its lease ends
// with the invocation.
func TestNestedLeaseLastsForTheInvocation(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Reserve: 5 * time.Second}
		outer := newExecutor(t, store, config)
		inner, err := idempotent.New("inner", store, config)
		if err != nil {
			t.Fatal(err)
		}
		invocation, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		key := idempotent.Key{ID: "k"}
		_, _, _ = do(invocation, outer, func(ctx context.Context) (string, error) {
			return idempotent.Do(ctx, inner, key, func(context.Context) (string, error) {
				time.Sleep(18 * time.Second) // the process lives until 20 s
				other, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				ctx, event := adapter.WithEvent(other)
				if _, err := idempotent.Do(ctx, inner, key, returns("second run")); !errors.Is(err, idempotent.ErrInProgress) {
					t.Errorf("another invocation got %v, %+v", err, *event)
				}
				return "", nil
			})
		})
	})
}

// A store that limits a transaction by it must not end that of a live call.
func TestCallKnowsTheEndOfItsInvocation(t *testing.T) {
	for _, lambda := range []string{"", "f"} {
		t.Setenv("AWS_LAMBDA_FUNCTION_NAME", lambda)
		x, inner := newExecutor(t, memory.New(0), nil), newExecutor(t, memory.New(0), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var want time.Time
		if lambda != "" {
			want, _ = ctx.Deadline()
		}
		check := func(ctx context.Context) (string, error) {
			if got := driver.CallOf(ctx).InvocationEnd(); !got.Equal(want) {
				t.Errorf("on %q it is %v, want %v", lambda, got, want)
			}
			return "", nil
		}
		_, _, err := do(ctx, x, func(ctx context.Context) (string, error) {
			shorter, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, _, err := do(shorter, inner, check)
			_, own := check(shorter)
			return "", errors.Join(err, own)
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// A nested call that cannot record its result leaves the outer call's Reserve
// for the outer result.
func TestNestedFinishLeavesTheOuterReserve(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		down := &proxy{Store: memory.New(0), change: func(context.Context, driver.Fence, driver.Change, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			return driver.Record{}, false, errNetwork
		}}
		outer := newExecutor(t, store, nil)
		inner, err := idempotent.New("inner", down, nil)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		invocation, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, _, _ = do(invocation, outer, func(ctx context.Context) (string, error) {
			_, _ = idempotent.Do(ctx, inner, idempotent.Key{ID: "k"}, returns("best effort"))
			if since := time.Since(begun); since > 29500*time.Millisecond+50*time.Millisecond {
				t.Errorf("the nested call came back after %v of an invocation of 30 s: no time to record the outer result", since)
			}
			return "charged", nil
		})
	})
}

// A nested call's retryable error does not refund an attempt of the outer call,
// which has had its effect.
func TestNestedRetryableErrorRefundsNoOuterAttempt(t *testing.T) {
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

// The outer call has the same outcome whether the nested call fails or replays
// its failure.
func TestNestedPermanentErrorAndItsReplayHaveOneOutcome(t *testing.T) {
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

// A sentinel that a nested call has returned classifies the outer handler's
// error, if the handler returns the sentinel itself.
func TestSentinelThatANestedCallReturnedStillClassifies(t *testing.T) {
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
					return "", errDeclined // the handler's own
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

// An error that an outer handler takes out of a nested call's error is not
// classified by it: here the error of the inner handler, within that of a step.
func TestClassificationWithinANestedErrorDoesNotCount(t *testing.T) {
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

var errDeclined = idempotent.Permanent(errors.New("declined"))

var errBusy = idempotent.Retryable(errors.New("busy"))

// An error class set by the undo function does not apply to an enclosing call:
// its failure would be stored, and no attempt would continue to undo.
func TestUndoErrorDoesNotClassifyAnEnclosingCall(t *testing.T) {
	for _, disabled := range []string{"", "true"} {
		t.Setenv("ONCE_DISABLED", "")
		outer := newExecutor(t, memory.New(0), nil)
		t.Setenv("ONCE_DISABLED", disabled)
		x := newExecutor(t, memory.New(0), nil)
		ctx, event := adapter.WithEvent(t.Context())
		_, err := idempotent.Do(ctx, outer, idempotent.Key{ID: "outer"}, func(ctx context.Context) (string, error) {
			value, _, err := do(ctx, x, func(ctx context.Context) (string, error) {
				_, err := idempotent.SagaStep(ctx, "charge", returns("x"),
					func(context.Context, string) error { return idempotent.Permanent(errCrash) })
				if err != nil {
					return "", err
				}
				return "", soldOut()
			})
			return value, err
		})
		if !errors.Is(err, idempotent.ErrCompensation) || event.Outcome != idempotent.OutcomeReleased {
			t.Errorf("disabled %q: %v, %v", disabled, err, event.Outcome)
		}
	}
}

// The unknown outcome wraps a refusal with a class of its own. The refused copy
// may have been the second.
func TestNestedUnknownOutcomeIsNoFailureOfTheOuterCall(t *testing.T) {
	outer := memory.New(0)
	_, event, err := do(t.Context(), newExecutor(t, outer, nil), func(ctx context.Context) (string, error) {
		x := newExecutor(t, &refusesSecond{bank: newBank()}, &idempotent.Config{Optimistic: true, ReleasePermanent: true})
		return idempotent.Do(ctx, x, theKey, books("x", nil))
	})
	if !errors.Is(err, idempotent.ErrOutcomeUnknown) || event.Outcome != idempotent.OutcomeReleased || event.Permanent {
		t.Errorf("%v, %+v", err, event)
	}
	if r := stored(t, outer); r.Status != driver.Absent {
		t.Errorf("the outer record is %s", r.Status)
	}
}
