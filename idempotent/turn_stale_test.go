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

// The turn comes as the lease ends: its own context does not say so.
func TestHandlerDoesNotBeginAfterItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, frozen(store), &idempotent.Config{Lease: time.Minute})
		try(adapter.With(t.Context(), adapter.Turn(func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		})), t, x, mustNotRun(t)).is(idempotent.ErrTimedOut).ended(idempotent.OutcomeNotRun).attempt(0)
		check.Equal(t, stored(t, store).Status, driver.Absent)
	})
}

// The turn comes just when a heartbeat meets another owner. The lease, as this
// call knows it, has time left.
func TestHandlerDoesNotBeginAfterAnotherTookOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Lease: time.Minute})
		try(adapter.With(t.Context(), adapter.Turn(func(ctx context.Context) error {
			r := stored(t, store)
			if _, ok, err := store.Change(ctx, driver.Fence{ID: r.ID, Owner: r.Owner, Attempt: r.Attempt, Lease: r.Lease},
				driver.Change{Owner: "other", Lease: r.Lease.Add(time.Hour), Expires: r.Expires}); err != nil || !ok {
				t.Fatal(ok, err)
			}
			<-ctx.Done()
			return nil
		})), t, x, mustNotRun(t)).is(idempotent.ErrLeaseLost).ended(idempotent.OutcomeNotRun)
		check.Equal(t, stored(t, store).Owner, "other")
	})
}

// A claim that failed open before its turn says nothing about the store when
// the turn comes.
func TestHandlerDoesNotBeginUnderAnOldClaimThatFailedOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, hooked(store, on(isCreate, unanswered)), &idempotent.Config{OnStoreError: idempotent.FailOpen})
		_, event, err := do(adapter.With(t.Context(), adapter.Turn(func(context.Context) error { return nil })), x, mustNotRun(t))
		check.Failed(t, err)
		check.True(t, event.ErrorIs(driver.ErrUnavailable))
		check.Equal(t, event.Outcome, idempotent.OutcomeNotRun)
		check.Equal(t, stored(t, store).Status, driver.Absent)
	})
}
