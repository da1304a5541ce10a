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

func inTurn(t *testing.T, turn func(context.Context) error) context.Context {
	return adapter.With(t.Context(), adapter.Turn(turn))
}

// notRun is of a call that claimed, and whose turn was refused.
func (r result) notRun() result {
	r.t.Helper()
	check.Equal(r.t, r.event.Handler, 0)
	return r.fails(errHalted).ended(idempotent.OutcomeNotRun).attempt(0)
}

func TestRefusedTurnReleasesTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, nil)
		try(inTurn(t, func(ctx context.Context) error {
			time.Sleep(time.Second)
			return errHalted
		}), t, x, mustNotRun(t)).notRun().roundTrips(2)
		recordIs(t, store, "no record")
	})
}

// The attempt that lapsed counts, and the one that did not run does not.
func TestRefusedTurnAfterATakeoverIsUncounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := abandoned(t)
		x := newExecutor(t, store, &idempotent.Config{Lease: time.Minute})
		r := try(inTurn(t, refused), t, x, mustNotRun(t)).notRun()
		check.True(t, r.event.Lapsed, "the crash of the earlier attempt is not reported")
		recordIs(t, store, "released, attempt 2, refunds 1")
		check.Time(t, stored(t, store).Lease, driver.LeaseEnded)
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
		r := try(inTurn(t, func(ctx context.Context) error {
			time.Sleep(10 * time.Minute)
			left := time.Until(stored(t, store).Lease)
			check.True(t, left >= 30*time.Second, left)
			return ctx.Err()
		}), t, x, func(context.Context) (string, error) {
			time.Sleep(time.Second)
			return "done", nil
		}).returned("done").ended(idempotent.OutcomeExecuted).attempt(1)
		check.Equal(t, r.event.Handler, time.Second)
		check.Equal(t, r.event.Total, time.Second)
	})
}

// Another call takes over while the turn is awaited: its record stays. The turn may
// come at the same moment, while the lease, as this call knows it, has time left.
func TestHandlerDoesNotBeginAfterAnotherTookOver(t *testing.T) {
	for name, turn := range map[string]func(context.Context) error{
		"the wait ends": context.Cause, "the turn comes": func(context.Context) error { return nil },
	} {
		bubble(t, name, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, store, &idempotent.Config{Lease: time.Minute})
			var other driver.Record
			try(inTurn(t, func(ctx context.Context) error {
				takeOver(t, store)
				other = stored(t, store)
				<-ctx.Done()
				return turn(ctx)
			}), t, x, mustNotRun(t)).is(idempotent.ErrLeaseLost).ended(idempotent.OutcomeNotRun)
			check.Deep(t, stored(t, store), other)
		})
	}
}

// The lost answer of the claim may have been a yes. When the turn comes, a claim
// that failed open before it says nothing about the store.
func TestHandlerDoesNotBeginUnderAnOldClaimThatFailedOpen(t *testing.T) {
	for name, turn := range map[string]error{"refused": errHalted, "granted": nil} {
		bubble(t, name, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, hooked(store, on(isCreate, unanswered)), &idempotent.Config{OnStoreError: idempotent.FailOpen})
			r := try(inTurn(t, func(context.Context) error { return turn }), t, x, mustNotRun(t)).failed().ended(idempotent.OutcomeNotRun)
			check.True(t, turn == nil || r.err == turn, r.err)
			check.True(t, r.event.ErrorIs(driver.ErrUnavailable))
			check.Equal(t, stored(t, store).Status, driver.Absent)
		})
	}
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

func TestUnprotectedRunsTakeTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
		tryKey(inTurn(t, refused), t, x, idempotent.Key{}, mustNotRun(t)).notRun()
	})
}

func TestClaimsAheadOnlyWhereACrashCostsNothing(t *testing.T) {
	check.True(t, adapter.ClaimsAhead(newExecutor(t, newBank(), nil)))
	check.False(t, adapter.ClaimsAhead(newExecutor(t, newBank(), &idempotent.Config{MaxAttempts: 3})))
	check.False(t, adapter.ClaimsAhead(newExecutor(t, newBank(), optimistic)), "without a claim")
	t.Setenv("ONCE_DISABLED", "1")
	check.False(t, adapter.ClaimsAhead(newExecutor(t, memory.New(0), nil)), "disabled, it claims")
}

// An adapter that holds other claims learns of a wait that they may prolong,
// and not of one that is over in a moment.
func TestAdapterLearnsOnceThatACallWaits(t *testing.T) {
	for name, test := range map[string]struct {
		config idempotent.Config
		runs   time.Duration
		want   int
	}{
		"for another process":                     {idempotent.Config{}, time.Minute, 1},
		"for another process, for a moment":       {idempotent.Config{}, time.Millisecond, 0},
		"for a call of its own process":           {idempotent.Config{Wait: time.Second}, time.Minute, 1},
		"for nothing, as the duplicate has ended": {idempotent.Config{}, 0, 0},
	} {
		bubble(t, name, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, store, &test.config)
			go func() {
				try(t.Context(), t, x, func(context.Context) (string, error) {
					time.Sleep(test.runs)
					return "done", nil
				}).succeeded()
			}()
			synctest.Wait()
			told := 0
			ctx := adapter.With(t.Context(), adapter.Wait(time.Hour), adapter.Waiting(func() { told++ }))
			try(ctx, t, x, mustNotRun(t)).returned("done")
			check.Equal(t, told, test.want)
		})
	}
}
