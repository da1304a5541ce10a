package idempotent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The context of a cancelled step says nothing about the clock: the invocation has time,
// and the next one may run under the same claim all the same.
func TestCancelledExecutionStepLeavesItsClaim(t *testing.T) {
	store := memory.New(0)
	step := adapter.Execution{ID: []string{"arn", "step"}, Until: time.Now().Add(time.Hour)}
	ctx, cancel := context.WithCancel(adapter.With(t.Context(), adapter.Durable(step)))
	defer cancel()
	r := try(ctx, t, newExecutor(t, store, nil), func(context.Context) (string, error) {
		cancel()
		return "", idempotent.Permanent(errCrash)
	}).fails(errCrash).ended(idempotent.OutcomeSuspended)
	recordIs(t, store, "in progress")
	check.False(t, r.event.Permanent, "the next invocation repeats the step")
}

// Its caller has gone, so nobody asked for an unprotected run.
func TestCancelledCallDoesNotFailOpen(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	store := hooked(memory.New(0), on(isClaim, func(write) (driver.Record, bool, error) {
		cancel()
		return driver.Record{}, false, errNetwork
	}))
	try(ctx, t, newExecutor(t, store, &idempotent.Config{OnStoreError: idempotent.FailOpen}), mustNotRun(t)).is(idempotent.ErrStore)
}

// The commit hangs for as long as it may. A release then decides what became of it, also
// one that takes its time.
func TestHungCommitLeavesTimeToDecideIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBank()
		b.on = func(w write) (driver.Record, bool, error) {
			return on(isCommit, hangs)(write{ctx: w.ctx, record: w.record, fence: w.fence, change: w.change, send: func() (driver.Record, bool, error) {
				return on(isRelease, slow(time.Second))(w)
			}})
		}
		try(t.Context(), t, newExecutor(t, b, &idempotent.Config{Lease: 9 * time.Second}), func(ctx context.Context) (string, error) {
			book(ctx, "transfer")
			return "done", nil
		}).rolledBack()
		recordIs(t, b, "released")
		b.holds(t)
	})
}

// The end of the handler cuts an extension off. The one before it was well.
func TestExtensionThatTheEndCutsOffHasNotFailed(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		store := hooked(memory.New(0), on(isExtend, slow(2*time.Second)))
		_, event, err := do(during(t, 24*time.Second), newExecutor(t, store, &idempotent.Config{Lease: 30 * time.Second}), func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		check.Is(t, err, idempotent.ErrTimedOut)
		check.False(t, event.ErrorIs(idempotent.ErrStore), event.Err)
	})
}

// The retention counts from the write that was stored, and not from the first try.
func TestRepeatedCompletionExpiresLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		completes := func(w write) bool { return w.change.Status == driver.Completed }
		x := newExecutor(t, hooked(store, onFirst(completes, func(w write) (driver.Record, bool, error) {
			time.Sleep(10 * time.Second)
			return driver.Record{}, false, errNetwork
		})), &idempotent.Config{Lease: time.Minute, Retention: time.Hour})
		try(t.Context(), t, x, returns("done")).returned("done")
		check.True(t, !stored(t, store).Expires.Before(time.Now().Add(time.Hour).Truncate(time.Second)), stored(t, store).Expires, time.Now())
	})
}
