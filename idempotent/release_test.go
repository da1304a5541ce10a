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
	try(t.Context(), t, x, failsWith(first)).with("").fails(first).ended(idempotent.OutcomeReleased).roundTrips(2)
	check.Equal(t, stored(t, store).Status, driver.Absent, "a first attempt that left no trace is kept")
	try(t.Context(), t, x, returns("second")).returned("second").roundTrips(2)
}

// Whether a failed claim was stored is unknown. It is released, so that neither
// its lease nor its attempt stands in the way of the next call.
func TestFailedClaimIsReleased(t *testing.T) {
	for name, lost := range map[string]hook{"applied": unanswered, "not sent": notSent(errNetwork)} {
		store := memory.New(0)
		x := newExecutor(t, hooked(store, onFirst(isCreate, lost)), &idempotent.Config{MaxAttempts: 1})
		_, event, err := do(t.Context(), x, mustNotRun(t))
		failed := check.As[*idempotent.StoreError](t, err, name)
		check.False(t, failed.Executed, name)
		check.Is(t, err, errNetwork, name)
		check.Equal(t, event.Outcome, idempotent.OutcomeFailed, name)
		value, _, err := do(t.Context(), x, returns("second"))
		check.Nil(t, err, name)
		check.Equal(t, value, "second", name)
	}
}

// A caller that has gone does not wait for a refund as long as the Reserve.
func TestRefundTakesNoReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		_, _, _ = do(during(t, time.Second), newExecutor(t, hooked(memory.New(0), hangs), &idempotent.Config{Lease: 5 * time.Minute, Reserve: time.Minute}), mustNotRun(t))
		took(t, begun, 0, 7*time.Second)
	})
}

// A release keeps a record with steps that the call does not know of, and
// stores the refund in it.
func TestRefundIsStoredWithUnknownSteps(t *testing.T) {
	store := memory.New(0)
	p := hooked(store, on(isChange, func(w write) (driver.Record, bool, error) {
		if w.change.Release == driver.ReleaseDelete {
			r := stored(t, store)
			r.Steps = map[string][]byte{"a": []byte("=1")}
			check.Nil(t, store.Put(r))
		}
		return w.send()
	}))
	try(t.Context(), t, newExecutor(t, p, nil), failsWith(idempotent.Retryable(errCrash))).fails(errCrash)
	recordIs(t, store, "released, refunds 1, steps a")
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
	recordIs(t, store, "released, steps charge")
	check.Time(t, stored(t, store).Lease, driver.LeaseEnded)
	try(t.Context(), t, x, returns("second")).returned("second").attempt(2)
}

// A release that fails is reported to the observer; the caller receives the
// handler's error.
func TestReleaseThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, hooked(memory.New(0), fails(isChange, errNetwork)), nil)
		first := errors.New("try again")
		try(t.Context(), t, x, failsWith(first)).fails(first).observed(first).observed(errNetwork)
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
		store := memory.New(0)
		p := hooked(store, nil)
		p.on = on(isChange, func(w write) (driver.Record, bool, error) {
			if p.tries > 4 { // with the claim
				return driver.Record{}, false, errNetwork
			}
			return meets(store)(w)
		})
		began := time.Now()
		try(t.Context(), t, newExecutor(t, p, nil), failsWith(errCrash)).fails(errCrash).ended(idempotent.OutcomeUnknown)
		check.Equal(t, p.tries, 5)
		check.True(t, time.Since(began) <= time.Second, time.Since(began))
	})
}
