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
)

var errHalted = errors.New("an earlier record has failed")

func refused(context.Context) error { return errHalted }

// checkNotRun checks the event of a call that claimed and did not run.
func checkNotRun(t *testing.T, event *idempotent.Event, err error) {
	t.Helper()
	if err != errHalted || event.Outcome != idempotent.OutcomeNotRun || event.Attempt != 0 || event.Handler != 0 {
		t.Errorf("%v, %+v", err, event)
	}
}

func TestRefusedTurnReleasesTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, nil)
		_, event, err := do(adapter.With(t.Context(), adapter.Settings{Turn: func(ctx context.Context) error {
			time.Sleep(time.Second)
			return errHalted
		}}), x, mustNotRun(t))
		checkNotRun(t, event, err)
		if event.RoundTrips != 2 {
			t.Errorf("%d round trips", event.RoundTrips)
		}
		if r := stored(t, store); r.Status != driver.Absent {
			t.Errorf("it left %+v", r)
		}
	})
}

// The attempt that lapsed counts, and the one that did not run does not.
func TestRefusedTurnAfterATakeoverIsUncounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Lease: time.Minute})
		abandonClaim(t, store, time.Minute)
		time.Sleep(2 * time.Minute)
		_, event, err := do(adapter.With(t.Context(), adapter.Settings{Turn: refused}), x, mustNotRun(t))
		checkNotRun(t, event, err)
		if !event.Lapsed {
			t.Error("the crash of the earlier attempt is not reported")
		}
		if r := stored(t, store); r.Status != driver.InProgress || r.Attempt != 2 || r.Used() != 1 || !r.Lease.Equal(driver.LeaseEnded) {
			t.Errorf("it left %+v", r)
		}
		_, event, err = do(t.Context(), x, func(ctx context.Context) (string, error) {
			if claim, _ := idempotent.FromContext(ctx); !claim.Takeover() {
				t.Error("the handler is not told of the earlier attempt")
			}
			return "", nil
		})
		if err != nil || event.Outcome != idempotent.OutcomeTakeover {
			t.Errorf("%v, %+v", err, event)
		}
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
		value, event, err := do(adapter.With(t.Context(), adapter.Settings{Turn: func(ctx context.Context) error {
			time.Sleep(10 * time.Minute)
			if left := time.Until(stored(t, store).Lease); left < 30*time.Second {
				t.Errorf("the lease lasts %v more", left)
			}
			return ctx.Err()
		}}), x, func(context.Context) (string, error) {
			time.Sleep(time.Second)
			return "done", nil
		})
		if err != nil || value != "done" || event.Outcome != idempotent.OutcomeExecuted || event.Attempt != 1 || event.Handler != time.Second || event.Total != time.Second {
			t.Errorf("%q, %v, %+v", value, err, event)
		}
	})
}

// Another call has taken over while the turn was awaited: its record stays.
func TestLostLeaseEndsTheWaitForTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Lease: time.Minute})
		other := driver.Record{}
		_, event, err := do(adapter.With(t.Context(), adapter.Settings{Turn: func(ctx context.Context) error {
			r := stored(t, store)
			var ok bool
			var err error
			if other, ok, err = store.Change(ctx, driver.Fence{ID: r.ID, Owner: r.Owner, Attempt: r.Attempt, Lease: r.Lease},
				driver.Change{Owner: "other", Lease: r.Lease.Add(time.Hour), Expires: r.Expires}); err != nil || !ok {
				t.Fatal(ok, err)
			}
			<-ctx.Done()
			return context.Cause(ctx)
		}}), x, mustNotRun(t))
		if !errors.Is(err, idempotent.ErrLeaseLost) || event.Outcome != idempotent.OutcomeNotRun {
			t.Errorf("%v, %+v", err, event)
		}
		if r := stored(t, store); r.Owner != "other" || r.Attempt != other.Attempt || !r.Lease.Equal(other.Lease) {
			t.Errorf("it left %+v", r)
		}
	})
}

// The lost answer of the claim may have been a yes.
func TestRefusedTurnReleasesAClaimThatFailedOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, &proxy{Store: store, create: func(_ context.Context, _ driver.Record, _ time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if _, _, err := next(); err != nil {
				t.Error(err)
			}
			return driver.Record{}, false, driver.ErrUnavailable
		}}, &idempotent.Config{OnStoreError: idempotent.FailOpen})
		_, event, err := do(adapter.With(t.Context(), adapter.Settings{Turn: refused}), x, mustNotRun(t))
		checkNotRun(t, event, err)
		if r := stored(t, store); r.Status != driver.Absent {
			t.Errorf("it left %+v", r)
		}
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
		ahead := adapter.With(t.Context(), adapter.Settings{Turn: mustNotTake, Wait: new(time.Duration)})
		abandonClaim(t, store, time.Minute)
		if _, event, err := do(ahead, x, mustNotRun(t)); !errors.Is(err, idempotent.ErrInProgress) || event.Outcome != idempotent.OutcomeNotRun {
			t.Errorf("%v, %+v", err, event)
		}
		time.Sleep(2 * time.Minute)
		if _, _, err := do(t.Context(), x, returns("done")); err != nil {
			t.Fatal(err)
		}
		if value, event, err := do(ahead, x, mustNotRun(t)); err != nil || value != "done" || event.Outcome != idempotent.OutcomeReplayed {
			t.Errorf("%q, %v, %+v", value, err, event)
		}
	})
}

func TestCallsWithinAHandlerHaveNoTurn(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	turns := 0
	ctx := driver.WithSibling(t.Context(), sibling{})
	_, _, err := do(adapter.With(ctx, adapter.Settings{Turn: func(context.Context) error { turns++; return nil }}), x, func(ctx context.Context) (string, error) {
		if driver.Arrive(ctx) != 0 {
			t.Error("a write of the handler has siblings")
		}
		return idempotent.Do(ctx, x, idempotent.Key{ID: "inner"}, returns("inner"))
	})
	if err != nil || turns != 1 {
		t.Errorf("%v, %d turns", err, turns)
	}
}

type sibling struct{}

func (sibling) Arrive() int { return 9 }

func TestUnprotectedRunsTakeTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
		ctx, event := adapter.WithEvent(adapter.With(t.Context(), adapter.Settings{Turn: refused}))
		_, err := idempotent.Do(ctx, x, idempotent.Key{}, mustNotRun(t))
		checkNotRun(t, event, err)
	})
}

// The reason is not the handler's error: it is never stored, whatever its class.
func TestRefusedTurnOfAnOptimisticCallStoresNothing(t *testing.T) {
	store := newBank()
	x := newExecutor(t, store, &idempotent.Config{Optimistic: true})
	_, event, err := do(adapter.With(t.Context(), adapter.Settings{Turn: func(context.Context) error { return idempotent.Permanent(errHalted) }}), x, mustNotRun(t))
	if !errors.Is(err, errHalted) || event.Outcome != idempotent.OutcomeNotRun || event.RoundTrips != 0 {
		t.Errorf("%v, %+v", err, event)
	}
}

func TestClaimsAheadOnlyWhereACrashCostsNothing(t *testing.T) {
	for _, test := range []struct {
		config idempotent.Config
		want   bool
	}{{idempotent.Config{}, true}, {idempotent.Config{MaxAttempts: 3}, false}} {
		if got := newExecutor(t, memory.New(0), &test.config).ClaimsAhead(); got != test.want {
			t.Errorf("%+v: %v", test.config, got)
		}
	}
	t.Setenv("ONCE_DISABLED", "1")
	if newExecutor(t, memory.New(0), nil).ClaimsAhead() {
		t.Error("disabled, it claims")
	}
}
