package idempotent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

func TestDoReleasesOtherErrors(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	first := errors.New("try again")
	value, event, err := do(t.Context(), x, failsWith(first))
	if err != first || value != "" || event.Outcome != idempotent.OutcomeReleased {
		t.Fatalf("first: %q, %v, %+v", value, err, event)
	}
	check.Equal(t, stored(t, store).Status, driver.Absent, "a first attempt that left no trace is kept")
	if value, _, err = do(t.Context(), x, returns("second")); err != nil || value != "second" {
		t.Errorf("second: %q, %v", value, err)
	}
}

// Whether a failed claim was stored is unknown. It is released, so that neither
// its lease nor its attempt stands in the way of the next call.
func TestFailedClaimIsReleased(t *testing.T) {
	for _, applied := range []bool{true, false} {
		store := memory.New(0)
		failing := true
		x := newExecutor(t, &proxy{Store: store, create: func(_ context.Context, _ driver.Record, _ time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if !failing {
				return next()
			}
			failing = false
			if applied {
				if _, _, err := next(); err != nil {
					return driver.Record{}, false, err
				}
			}
			return driver.Record{}, false, errNetwork
		}}, &idempotent.Config{MaxAttempts: 1})
		_, event, err := do(t.Context(), x, mustNotRun(t))
		failed := check.As[*idempotent.StoreError](t, err, applied)
		check.False(t, failed.Executed, applied)
		check.Is(t, err, errNetwork, applied)
		check.Equal(t, event.Outcome, idempotent.OutcomeFailed, applied)
		value, _, err := do(t.Context(), x, returns("second"))
		check.Nil(t, err, applied)
		check.Equal(t, value, "second", applied)
	}
}

// A caller that has gone does not wait for a refund as long as the Reserve.
func TestRefundTakesNoReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context) (driver.Record, bool, error) {
			<-ctx.Done()
			return driver.Record{}, false, errNetwork
		}
		p := &proxy{Store: memory.New(0),
			create: func(ctx context.Context, _ driver.Record, _ time.Time, _ func() (driver.Record, bool, error)) (driver.Record, bool, error) {
				return hang(ctx)
			},
			change: func(ctx context.Context, _ driver.Fence, _ driver.Change, _ func() (driver.Record, bool, error)) (driver.Record, bool, error) {
				return hang(ctx)
			}}
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, _ = do(ctx, newExecutor(t, p, &idempotent.Config{Lease: 5 * time.Minute, Reserve: time.Minute}), mustNotRun(t))
		since := time.Since(begun)
		check.True(t, since <= 7*time.Second, since)
	})
}

// A release keeps a record with steps that the call does not know of, and
// stores the refund in it.
func TestRefundIsStoredWithUnknownSteps(t *testing.T) {
	store := memory.New(0)
	p := &proxy{Store: store, change: func(ctx context.Context, f driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if c.Release == driver.ReleaseDelete {
			r := stored(t, store)
			r.Steps = map[string][]byte{"a": []byte("=1")}
			check.Nil(t, store.Put(r))
		}
		return next()
	}}
	try(t.Context(), t, newExecutor(t, p, nil), failsWith(idempotent.Retryable(errCrash))).fails(errCrash)
	r := stored(t, store)
	check.Equal(t, len(r.Steps), 1)
	check.Equal(t, r.Owner, "")
	check.Equal(t, r.Refunds, 1)
}

// A record with finished steps is not deleted: the next owner needs them.
func TestReleaseKeepsFinishedSteps(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	first := errors.New("try again")
	try(t.Context(), t, x, func(context.Context) (string, error) {
		r := stored(t, store)
		_, ok, err := store.Change(t.Context(), driver.Fence{ID: r.ID, Owner: r.Owner}, driver.Change{Steps: map[string][]byte{"charge": []byte("1")}})
		check.True(t, ok)
		check.Nil(t, err)
		return "", first
	}).fails(first)
	r := stored(t, store)
	check.Equal(t, len(r.Steps), 1)
	check.Equal(t, r.Owner, "")
	check.Time(t, r.Lease, driver.LeaseEnded)
	try(t.Context(), t, x, returns("second")).returned("second").attempt(2)
}

// A release that fails is reported to the observer; the caller receives the
// handler's error.
func TestReleaseThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, &proxy{Store: memory.New(0), change: func(context.Context, driver.Fence, driver.Change, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			return driver.Record{}, false, errNetwork
		}}, nil)
		first := errors.New("try again")
		_, event, err := do(t.Context(), x, failsWith(first))
		check.Equal(t, err, first)
		check.Is(t, event.Err, first)
		check.Is(t, event.Err, errNetwork)
	})
}

// The handler's error reaches the caller, or the observer.
func TestHandlersErrorIsReturnedOrObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		mine := errors.New("mine")
		var done chan struct{}
		_, event, err := meanwhile(t, newExecutor(t, frozen(store), &idempotent.Config{Lease: 10 * time.Second}), mine, func() {
			done = inBackground(t, newExecutor(t, store, nil), time.Minute, "next", nil)
			time.Sleep(time.Second)
		})
		if !errors.Is(err, mine) && !errors.Is(event.Err, mine) {
			t.Errorf("nobody hears of the handler's error: %v; %v", err, event.Err)
		}
		<-done
	})
}

func TestReleaseEndsWithTheFirstOutageAfterConflicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, tries := memory.New(0), 0
		p := &proxy{Store: store, change: func(ctx context.Context, f driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if tries++; tries > 3 {
				return driver.Record{}, false, errNetwork
			}
			met, err := store.Get(ctx, f.ID)
			return met, false, err // a conflict of another kind
		}}
		began := time.Now()
		try(t.Context(), t, newExecutor(t, p, nil), failsWith(errCrash)).fails(errCrash).ended(idempotent.OutcomeUnknown)
		check.Equal(t, tries, 4)
		check.True(t, time.Since(began) <= time.Second, time.Since(began))
	})
}
