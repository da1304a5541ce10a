package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The handler ends before the stored lease does, and not before the one that
// the lost claim was rebuilt with.
func TestClaimUsesTheStoredLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, hooked(store, func(w write) (driver.Record, bool, error) {
			if isExtend(w) {
				return driver.Record{}, false, errNetwork // no heartbeat arrives
			}
			if isCreate(w) {
				if _, _, err := w.send(); err != nil {
					return driver.Record{}, false, err
				}
				time.Sleep(30 * time.Second)
			}
			return w.send()
		}), &idempotent.Config{Lease: time.Minute})
		begun := time.Now()
		try(t.Context(), t, x, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			check.Equal(t, time.Since(begun), time.Minute-500*time.Millisecond)
			return "", ctx.Err()
		}).is(context.Canceled)
	})
}

// A claim that meets its own record finished replays it: another copy of this
// call has run.
func TestClaimMeetsItsOwnCompletion(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, hooked(store, on(isCreate, func(w write) (driver.Record, bool, error) {
		if _, _, err := w.send(); err != nil {
			return driver.Record{}, false, err
		}
		if _, _, err := store.Change(w.ctx, driver.Fence{ID: w.record.ID, Owner: w.record.Owner}, driver.Change{Status: driver.Completed, Data: []byte(`"done"`), Expires: w.record.Expires}); err != nil {
			return driver.Record{}, false, err
		}
		return w.send()
	})), nil)
	try(t.Context(), t, x, mustNotRun(t)).returned("done").ended(idempotent.OutcomeReplayed).roundTrips(1)
}

// An answer that comes after the lease has lapsed makes nobody an owner: the
// attempt is refunded, and the call claims again.
func TestClaimAnsweredTooLate(t *testing.T) {
	for _, maxAttempts := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, hooked(store, onFirst(isCreate, delayed(2*time.Minute))), &idempotent.Config{Lease: time.Minute, MaxAttempts: maxAttempts})
			try(t.Context(), t, x, func(ctx context.Context) (string, error) {
				recordIs(t, store, "in progress") // without a refund
				check.True(t, stored(t, store).Lease.After(time.Now()))
				return "done", nil
			}).returned("done").attempt(1)
		})
	}
}

func TestClaimOfAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	try(ctx, t, newExecutor(t, unusable{}, nil), mustNotRun(t)).is(context.Canceled).is(idempotent.ErrStore).roundTrips(0)
}

// A call that loses a race claims again, but not for ever.
func TestClaimGivesUpAfterManyLostRaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := hooked(memory.New(0), func(write) (driver.Record, bool, error) { return driver.Record{}, false, nil })
		try(t.Context(), t, newExecutor(t, p, nil), mustNotRun(t)).is(idempotent.ErrInProgress)
		check.True(t, p.tries >= 5, p.tries)
		check.True(t, p.tries <= 20, p.tries)
	})
}

// A store may return an expired record: dynamo reads one after a
// TransactionConflictException, and a waiting call reads one with Get.
func TestExpiredRecordIsNotReplayed(t *testing.T) {
	store := memory.New(0)
	id := recordID(t, theKey)
	check.Must(t, store.Put(driver.Record{ID: id, Status: driver.Completed, Owner: "x", Attempt: 1,
		Expires: time.Now().Add(-48 * time.Hour), Data: []byte(`"of the day before yesterday"`)}))
	p := hooked(store, onFirst(isCreate, meets(store))) // as dynamo.Store.lost does
	try(t.Context(), t, newExecutor(t, p, nil), returns("today's")).returned("today's")
}

// A context that is cancelled during the claim is reported as cancelled, in an
// error type of this package. Nothing counts as released.
func TestCancelDuringTheClaimIsReported(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := hooked(memory.New(0), on(isCreate, func(w write) (driver.Record, bool, error) {
		defer cancel()
		return w.send()
	}))
	_, event, err := do(ctx, newExecutor(t, p, nil), mustNotRun(t))
	check.Is(t, err, context.Canceled)
	check.False(t, errors.Is(err, context.DeadlineExceeded))
	check.False(t, strings.HasPrefix(fmt.Sprintf("%T", err), "*fmt."), "Do promises one of this package's types or fn's own")
	check.Differ(t, event.Outcome, idempotent.OutcomeReleased, "'released' means that the handler failed or panicked; it did not run")
}
