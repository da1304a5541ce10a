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
	"github.com/lambda-once/once/internal/check"
)

// A nested call on the key of its own context would wait for itself, also when the
// outer call failed open.
func TestNestedCallOnItsOwnKeyIsRefused(t *testing.T) {
	for name, x := range map[string]*idempotent.Executor{
		"claimed":     newExecutor(t, memory.New(0), &idempotent.Config{Wait: time.Hour}),
		"failed open": newExecutor(t, hooked(memory.New(0), fails(isClaim, errNetwork)), &idempotent.Config{OnStoreError: idempotent.FailOpen, Wait: time.Hour}),
	} {
		bubble(t, name, func(t *testing.T) {
			begun := time.Now()
			try(t.Context(), t, x, func(ctx context.Context) (string, error) {
				_, event, err := do(ctx, x, mustNotRun(t))
				check.Is(t, err, idempotent.ErrNestedCall)
				check.Equal(t, event.RoundTrips, 0)
				check.True(t, time.Since(begun) <= time.Second, time.Since(begun))
				check.False(t, errors.Is(err, idempotent.ErrInProgress), "a call that can never succeed")
				check.Equal(t, event.Outcome, idempotent.OutcomeFailed)
				check.Lacks(t, err.Error(), "retry")
				check.Says(t, err, `"op"`)
				other := theKey
				other.ID = "another"
				_, err = idempotent.Do(ctx, x, other, returns("inner"))
				check.Nil(t, err)
				elsewhere := newExecutor(t, memory.New(0), nil)
				_, err = idempotent.Do(ctx, elsewhere, theKey, returns("inner"))
				check.Nil(t, err)
				return "", nil
			}).succeeded()
		})
	}
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
			check.Time(t, driver.CallOf(ctx).InvocationEnd(), want, lambda)
			return "", nil
		}
		try(ctx, t, x, func(ctx context.Context) (string, error) {
			shorter, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, _, err := do(shorter, inner, check)
			_, own := check(shorter)
			_, unprotected := check(idempotent.Unprotected(shorter))
			return "", errors.Join(err, own, unprotected)
		}).succeeded()
	}
}

// Each option is for one call: an inner one must not take the turn of the outer one, report
// in its place, wait as long, or read an operator's result as it does.
func TestCallWithinAHandlerHasNoneOfItsOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, event := newBank(), new(idempotent.Event)
		inner := named(t, "inner", b, nil)
		plant := func(r driver.Record) idempotent.Key {
			key := idempotent.Key{ID: r.Owner}
			r.ID, _ = key.RecordID("inner")
			check.Must(t, b.Put(r))
			return key
		}
		running := plant(driver.Record{Status: driver.InProgress, Owner: "other", Lease: time.Now().Add(time.Minute)})
		resolved := plant(driver.Record{Status: driver.Completed, Owner: driver.OperatorOwner + "ann", Data: []byte(`"theirs"`)})
		turns, attached, chain := 0, 0, ""
		ctx := adapter.With(t.Context(), adapter.Event(event), adapter.Chain("chain"), adapter.ReadFirst(true), adapter.Wait(time.Hour),
			adapter.Attaching(func() { attached++ }),
			adapter.Resolved(func([]byte) bool { return true }), // and decodes nothing
			adapter.Turn(func(context.Context) error { turns++; return nil }))
		_, err := idempotent.Do(ctx, newExecutor(t, memory.New(0), nil), theKey, func(ctx context.Context) (string, error) {
			_, err := idempotent.Do(ctx, inner, idempotent.Key{ID: "first"}, func(ctx context.Context) (string, error) {
				chain = idempotent.ChainKey(ctx, "mail")
				return books("x", nil)(ctx)
			})
			check.Nil(t, err)
			_, err = idempotent.Do(ctx, inner, running, mustNotRun(t))
			check.Is(t, err, idempotent.ErrInProgress)
			value, err := idempotent.Do(ctx, inner, resolved, mustNotRun(t))
			check.Equal(t, value, "theirs")
			check.Equal(t, *event, idempotent.Event{}, "of the inner call")
			return "", err
		})
		check.Nil(t, err)
		check.Equal(t, turns, 1)
		check.Equal(t, attached, 0)
		check.Equal(t, b.reads, 0)
		check.Lacks(t, chain, "chain")
	})
}

func TestOptionThatSetsNothingKeepsThatOfItsContext(t *testing.T) {
	outer := adapter.With(t.Context(), adapter.Chain("chain"), adapter.ReadFirst(true))
	ctx := adapter.With(outer, adapter.Chain(""), adapter.ReadFirst(false))
	try(ctx, t, newExecutor(t, memory.New(0), nil), func(ctx context.Context) (string, error) {
		check.Contains(t, idempotent.ChainKey(ctx, "mail"), "chain:")
		return "", nil
	}).succeeded().roundTrips(3)
}

// A nested call that cannot record its result leaves the outer call's Reserve
// for the outer result.
func TestNestedFinishLeavesTheOuterReserve(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		store := memory.New(0)
		down := hooked(memory.New(0), fails(isChange, errNetwork))
		outer := newExecutor(t, store, nil)
		inner := named(t, "inner", down, nil)
		begun := time.Now()
		_, _, _ = do(during(t, 30*time.Second), outer, func(ctx context.Context) (string, error) {
			_, _ = idempotent.Do(ctx, inner, idempotent.Key{ID: "k"}, returns("best effort"))
			took(t, begun, 0, 29500*time.Millisecond+50*time.Millisecond)
			return "charged", nil
		})
	})
}

// A nested call's retryable error does not refund an attempt of the outer call,
// which has had its effect.
func TestNestedRetryableErrorRefundsNoOuterAttempt(t *testing.T) {
	store := memory.New(0)
	outer := newExecutor(t, store, &idempotent.Config{MaxAttempts: 1})
	inner := named(t, "inner", store, nil)
	charges := 0
	handler := func(ctx context.Context) (string, error) {
		charges++ // the outer effect
		_, err := idempotent.Do(ctx, inner, idempotent.Key{ID: "mail"}, func(context.Context) (string, error) {
			return "", fmt.Errorf("mail: %w", idempotent.Retryable(errors.New("busy")))
		})
		return "", err
	}
	_, _, _ = do(t.Context(), outer, handler)
	try(t.Context(), t, outer, handler).is(idempotent.ErrOutcomeUnknown)
	check.Equal(t, charges, 1)
}

// A sentinel that a nested call has returned classifies the outer handler's
// error, if the handler returns the sentinel itself.
func TestSentinelThatANestedCallReturnedStillClassifies(t *testing.T) {
	for name, c := range map[string]struct {
		own, inner error
		outcome    idempotent.Outcome
		attempts   int
		runs       int
	}{
		"bare":      {errDeclined, errDeclined, idempotent.OutcomeFailed, 0, 1},
		"wrapped":   {errDeclined, fmt.Errorf("card: %w", errDeclined), idempotent.OutcomeFailed, 0, 1},
		"retryable": {errBusy, errBusy, idempotent.OutcomeReleased, 1, 2},
	} {
		store := memory.New(0)
		outer, in := newExecutor(t, store, &idempotent.Config{MaxAttempts: c.attempts}), named(t, "inner", store, nil)
		runs := 0
		handler := func(ctx context.Context) (string, error) {
			runs++ // an effect, e.g. the customer is told
			if _, err := idempotent.Do(ctx, in, idempotent.Key{ID: "card"}, failsWith(c.inner)); err != nil {
				return "", c.own // the handler's own
			}
			return "", nil
		}
		try(t.Context(), t, outer, handler).ended(c.outcome)
		_, _, _ = do(t.Context(), outer, handler)
		check.Equal(t, runs, c.runs, name)
	}
}

// An error that an outer handler takes out of a nested call's error is not
// classified by it: here the error of the inner handler, within that of a step.
func TestClassificationWithinANestedErrorDoesNotCount(t *testing.T) {
	store := memory.New(0)
	try(t.Context(), t, newExecutor(t, store, &idempotent.Config{MaxAttempts: 1}), func(ctx context.Context) (string, error) {
		limited, cancel := context.WithCancel(ctx)
		inner := newExecutor(t, notStepping(memory.New(0), errNetwork), nil)
		_, err := idempotent.Do(limited, inner, idempotent.Key{ID: "inner"}, func(ctx context.Context) (string, error) {
			_, err := idempotent.Step(ctx, "charge", func(context.Context) (string, error) { cancel(); return "", nil })
			return "", fmt.Errorf("charge: %w", idempotent.Retryable(errors.Join(errCrash, err)))
		})
		failed := check.As[*idempotent.StoreError](t, err)
		check.Failed(t, failed.Handler)
		return "", failed.Handler
	}).failed()
	recordIs(t, store, "released") // a refund would delete it
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
		check.Is(t, err, idempotent.ErrCompensation, disabled)
		check.Equal(t, event.Outcome, idempotent.OutcomeReleased, disabled)
	}
}

// The unknown outcome wraps a refusal with a class of its own. The refused copy
// may have been the second.
func TestNestedUnknownOutcomeIsNoFailureOfTheOuterCall(t *testing.T) {
	outer := memory.New(0)
	r := try(t.Context(), t, newExecutor(t, outer, nil), func(ctx context.Context) (string, error) {
		b := newBank()
		b.on = on(func(write) bool { return b.tries > 1 }, notSent(&driver.Rejected{Err: soldOut()}))
		b.before = func(*entry) error { return errNetwork }
		x := newExecutor(t, b, &idempotent.Config{Optimistic: true, ReleasePermanent: true})
		return idempotent.Do(ctx, x, theKey, books("x", nil))
	}).is(idempotent.ErrOutcomeUnknown).ended(idempotent.OutcomeReleased)
	check.False(t, r.event.Permanent)
	check.Equal(t, stored(t, outer).Status, driver.Absent)
}
