package idempotent_test

import (
	"context"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// untilCutOff runs until its context ends, and says when that was.
func untilCutOff(at *time.Time) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		select {
		case <-ctx.Done():
		case <-time.After(3 * time.Hour): // nobody cuts it off
		}
		*at = time.Now()
		return "", context.Cause(ctx)
	}
}

// No attempt runs longer, the first included: its last request could be the one whose
// answer is lost.
func TestHandlerIsCutOffBeforeAProviderForgets(t *testing.T) {
	for name, ago := range map[string]time.Duration{"a first attempt": 0, "a takeover": 30 * time.Minute, "a takeover at the bound": forgottenIn - longest} {
		bubble(t, name, func(t *testing.T) {
			store := memory.New(0)
			first := driver.WholeMillis(time.Now().Add(-ago))
			if ago > 0 {
				check.Must(t, store.Put(met(t, began(ago))))
			}
			var at time.Time
			x := newExecutor(t, store, remembers())
			try(t.Context(), t, x, untilCutOff(&at)).is(idempotent.ErrTimedOut).ended(idempotent.OutcomeTimedOut)
			check.Time(t, at, first.Add(forgottenIn))
			try(t.Context(), t, x, mustNotRun(t)).refusedAsForgotten()
		})
	}
}

// What counts is when an attempt must end. Nothing tells at its beginning whether it
// sends its last request early.
func TestInvocationMustEndBeforeAProviderForgets(t *testing.T) {
	const left, reserve = 15 * time.Minute, 500 * time.Millisecond
	for behind, runs := range map[time.Duration]bool{0: true, time.Millisecond: false} {
		onLambdaAgain(t, func(t *testing.T) {
			store := storing(t, began(forgottenIn-left+reserve+behind))
			ctx := during(t, left)
			x := newExecutor(t, store, remembers())
			if !runs {
				try(ctx, t, x, mustNotRun(t)).refusedAsForgotten()
				return
			}
			try(ctx, t, x, seesTheMemory(t, store)).returned("ours")
		})
	}
	onLambdaAgain(t, func(t *testing.T) { // a first attempt, in an invocation that lasts longer
		store := memory.New(0)
		try(during(t, 2*time.Hour), t, newExecutor(t, store, remembers()), seesTheMemory(t, store)).returned("ours")
	})
}

// seesTheMemory is a handler whose deadline is that of the provider's memory.
func seesTheMemory(t *testing.T, store driver.Store) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		deadline, _ := ctx.Deadline()
		check.Time(t, deadline, stored(t, store).Began.Add(forgottenIn))
		return "ours", nil
	}
}

// onLambdaAgain is onLambda, more than once in a test.
func onLambdaAgain(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Run("", func(t *testing.T) { onLambda(t, test) })
}

// A lease that is extended ends early, and its handler with the provider's memory. An
// invocation that ends before the lease does is what counts.
func TestLeaseMustEndBeforeAProviderForgets(t *testing.T) {
	const lease, reserve = 10 * time.Minute, 500 * time.Millisecond
	for _, test := range []struct {
		invocation, ago time.Duration
		runs            bool
	}{
		{0, forgottenIn - lease + reserve, true},
		{0, forgottenIn - lease + reserve + time.Millisecond, false},
		{time.Minute, forgottenIn - time.Minute + reserve, true},
		{time.Minute, forgottenIn - time.Minute + reserve + time.Millisecond, false},
		{time.Hour, forgottenIn - lease + reserve, true},
		{time.Hour, forgottenIn - lease + reserve + time.Millisecond, false},
	} {
		onLambdaAgain(t, func(t *testing.T) {
			store := storing(t, began(test.ago))
			config := remembers()
			config.Lease = lease
			ctx := t.Context()
			if test.invocation > 0 {
				ctx = during(t, test.invocation)
			}
			x := newExecutor(t, store, config)
			if !test.runs {
				try(ctx, t, x, mustNotRun(t)).refusedAsForgotten()
				return
			}
			var at time.Time
			try(ctx, t, x, untilCutOff(&at)).ended(idempotent.OutcomeTimedOut)
			check.Time(t, at, stored(t, store).Began.Add(forgottenIn))
		})
	}
}

// A claim that waits for its turn, or whose answer was long under way, began before.
func TestNothingBeginsAfterAProviderHasForgotten(t *testing.T) {
	for name, turn := range map[string]func(context.Context) error{
		"the wait ends": context.Cause, "the turn comes": func(context.Context) error { return nil },
	} {
		bubble(t, name, func(t *testing.T) {
			store := storing(t, began(30*time.Minute))
			before := stored(t, store)
			x := newExecutor(t, store, remembers())
			try(inTurn(t, func(ctx context.Context) error {
				var at time.Time
				_, _ = untilCutOff(&at)(ctx)
				check.Time(t, at, before.Began.Add(forgottenIn))
				return turn(ctx)
			}), t, x, mustNotRun(t)).is(idempotent.ErrTimedOut).ended(idempotent.OutcomeNotRun).attempt(0)
			recordIs(t, store, "released, attempt 2, refunds 1")
			try(t.Context(), t, x, mustNotRun(t)).refusedAsForgotten()
		})
	}
	bubble(t, "the takeover is answered late", func(t *testing.T) {
		store := storing(t, began(forgottenIn-time.Minute))
		config := remembers()
		config.Lease = 30 * time.Second
		x := newExecutor(t, hooked(store, onFirst(isTakeover, delayed(time.Minute))), config)
		try(t.Context(), t, x, mustNotRun(t)).refusedAsForgotten()
		recordIs(t, store, "released, attempt 2, refunds 1")
	})
	bubble(t, "the takeover is answered late, within a long lease", func(t *testing.T) {
		store := storing(t, began(forgottenIn-longest))
		x := newExecutor(t, hooked(store, onFirst(isTakeover, delayed(longest))), remembers())
		try(t.Context(), t, x, mustNotRun(t)).refusedAsForgotten()
		recordIs(t, store, "released, attempt 2, refunds 1")
	})
	// Nothing was sent: it begins anew.
	for name, delay := range map[string]time.Duration{"the first claim is answered late": 2 * time.Hour, "within its lease": 25 * time.Second} {
		bubble(t, name, func(t *testing.T) {
			store, config := memory.New(0), remembers()
			if delay < time.Minute {
				config.ProviderMemory = 20 * time.Second
			}
			x := newExecutor(t, hooked(store, onFirst(isCreate, delayed(delay))), config)
			try(t.Context(), t, x, func(ctx context.Context) (string, error) {
				check.Nil(t, ctx.Err())
				claim, _ := idempotent.FromContext(ctx)
				beganAt(t, claim.Began, time.Now().Add(-50*time.Millisecond))
				return "ours", nil
			}).returned("ours").attempt(1)
		})
	}
}
