package idempotent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

var errHalted = errors.New("an earlier record has failed")

func refused(context.Context) error { return errHalted }

// checkNotRun checks the event of a call that claimed and did not run.
func checkNotRun(t *testing.T, event *idempotent.Event, err error) {
	t.Helper()
	check.Equal(t, err, errHalted)
	check.Equal(t, event.Outcome, idempotent.OutcomeNotRun)
	check.Equal(t, event.Attempt, 0)
	check.Equal(t, event.Handler, 0)
}

func TestRefusedTurnReleasesTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, nil)
		_, event, err := do(adapter.With(t.Context(), adapter.Turn(func(ctx context.Context) error {
			time.Sleep(time.Second)
			return errHalted
		})), x, mustNotRun(t))
		checkNotRun(t, event, err)
		check.Equal(t, event.RoundTrips, 2, "round trips")
		check.Equal(t, stored(t, store).Status, driver.Absent)
	})
}

// The attempt that lapsed counts, and the one that did not run does not.
func TestRefusedTurnAfterATakeoverIsUncounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Lease: time.Minute})
		abandonClaim(t, store, time.Minute)
		time.Sleep(2 * time.Minute)
		_, event, err := do(adapter.With(t.Context(), adapter.Turn(refused)), x, mustNotRun(t))
		checkNotRun(t, event, err)
		check.True(t, event.Lapsed, "the crash of the earlier attempt is not reported")
		r := stored(t, store)
		check.Equal(t, r.Status, driver.InProgress)
		check.Equal(t, r.Attempt, 2)
		check.Equal(t, r.Used(), 1)
		check.Time(t, r.Lease, driver.LeaseEnded)
		try(t.Context(), t, x, func(ctx context.Context) (string, error) {
			claim, _ := idempotent.FromContext(ctx)
			check.True(t, claim.Takeover(), "the handler is not told of the earlier attempt")
			return "", nil
		}).succeeded().ended(idempotent.OutcomeTakeover)
	})
}

// abandonClaim leaves a claim as a crash does.
func abandonClaim(t *testing.T, store driver.Store, lease time.Duration) {
	t.Helper()
	until := time.Now().Round(0).Add(lease).Truncate(time.Millisecond)
	if _, ok, err := store.Create(t.Context(), driver.Record{
		ID: recordID(t, theKey), Status: driver.InProgress, Owner: "crashed", Attempt: 1, Lease: until, Expires: until.Add(24 * time.Hour).Truncate(time.Second),
	}, time.Now(), nil); err != nil || !ok {
		t.Fatal(ok, err)
	}
}

func TestLeaseIsExtendedWhileTheTurnIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Lease: time.Minute})
		value, event, err := do(adapter.With(t.Context(), adapter.Turn(func(ctx context.Context) error {
			time.Sleep(10 * time.Minute)
			left := time.Until(stored(t, store).Lease)
			check.True(t, left >= 30*time.Second, left)
			return ctx.Err()
		})), x, func(context.Context) (string, error) {
			time.Sleep(time.Second)
			return "done", nil
		})
		check.Nil(t, err)
		check.Equal(t, value, "done")
		check.Equal(t, event.Outcome, idempotent.OutcomeExecuted)
		check.Equal(t, event.Attempt, 1)
		check.Equal(t, event.Handler, time.Second)
		check.Equal(t, event.Total, time.Second)
	})
}

// Another call has taken over while the turn was awaited: its record stays.
func TestLostLeaseEndsTheWaitForTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Lease: time.Minute})
		other := driver.Record{}
		try(adapter.With(t.Context(), adapter.Turn(func(ctx context.Context) error {
			r := stored(t, store)
			var ok bool
			var err error
			if other, ok, err = store.Change(ctx, driver.Fence{ID: r.ID, Owner: r.Owner, Attempt: r.Attempt, Lease: r.Lease},
				driver.Change{Owner: "other", Lease: r.Lease.Add(time.Hour), Expires: r.Expires}); err != nil || !ok {
				t.Fatal(ok, err)
			}
			<-ctx.Done()
			return context.Cause(ctx)
		})), t, x, mustNotRun(t)).is(idempotent.ErrLeaseLost).ended(idempotent.OutcomeNotRun)
		r := stored(t, store)
		check.Equal(t, r.Owner, "other")
		check.Equal(t, r.Attempt, other.Attempt)
		check.Time(t, r.Lease, other.Lease)
	})
}

// The lost answer of the claim may have been a yes.
func TestRefusedTurnReleasesAClaimThatFailedOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, hooked(store, on(isCreate, unanswered)), &idempotent.Config{OnStoreError: idempotent.FailOpen})
		_, event, err := do(adapter.With(t.Context(), adapter.Turn(refused)), x, mustNotRun(t))
		checkNotRun(t, event, err)
		check.Equal(t, stored(t, store).Status, driver.Absent)
	})
}

// Whatever but a replay is met before the turn is decided again in it, and is
// observed then.
func TestCallThatMeetsAnotherBeforeItsTurnIsNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, nil)
		mustNotTake := func(context.Context) error {
			t.Error("it took the turn")
			return nil
		}
		ahead := adapter.With(t.Context(), adapter.Turn(mustNotTake), adapter.Wait(0))
		abandonClaim(t, store, time.Minute)
		try(ahead, t, x, mustNotRun(t)).is(idempotent.ErrInProgress).ended(idempotent.OutcomeNotRun)
		time.Sleep(2 * time.Minute)
		try(t.Context(), t, x, returns("done")).succeeded()
		try(ahead, t, x, mustNotRun(t)).returned("done").ended(idempotent.OutcomeReplayed)
	})
}

func TestCallsWithinAHandlerHaveNoTurn(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	turns := 0
	ctx := adapter.With(t.Context(), adapter.Sibling(func() int { return 9 }))
	try(adapter.With(ctx, adapter.Turn(func(context.Context) error { turns++; return nil })), t, x, func(ctx context.Context) (string, error) {
		check.Equal(t, driver.Arrive(ctx), 0, "a write of the handler has siblings")
		return idempotent.Do(ctx, x, idempotent.Key{ID: "inner"}, returns("inner"))
	}).succeeded()
	check.Equal(t, turns, 1)
}

func TestUnprotectedRunsTakeTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
		ctx, event := adapter.WithEvent(adapter.With(t.Context(), adapter.Turn(refused)))
		_, err := idempotent.Do(ctx, x, idempotent.Key{}, mustNotRun(t))
		checkNotRun(t, event, err)
	})
}

// The reason is not the handler's error: it is never stored, whatever its class.
func TestRefusedTurnOfAnOptimisticCallStoresNothing(t *testing.T) {
	store := newBank()
	x := newExecutor(t, store, &idempotent.Config{Optimistic: true})
	try(adapter.With(t.Context(), adapter.Turn(func(context.Context) error { return idempotent.Permanent(errHalted) })), t, x, mustNotRun(t)).is(errHalted).ended(idempotent.OutcomeNotRun).roundTrips(0)
}

func TestClaimsAheadOnlyWhereACrashCostsNothing(t *testing.T) {
	for _, test := range []struct {
		config idempotent.Config
		want   bool
	}{{idempotent.Config{}, true}, {idempotent.Config{MaxAttempts: 3}, false}} {
		check.Equal(t, adapter.ClaimsAhead(newExecutor(t, memory.New(0), &test.config)), test.want, test.config)
	}
	t.Setenv("ONCE_DISABLED", "1")
	check.False(t, adapter.ClaimsAhead(newExecutor(t, memory.New(0), nil)), "disabled, it claims")
}
