package idempotent_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

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
