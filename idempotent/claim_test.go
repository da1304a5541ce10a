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

type (
	createHook = func(context.Context, driver.Record, time.Time, func() (driver.Record, bool, error)) (driver.Record, bool, error)
	changeHook = func(context.Context, driver.Fence, driver.Change, func() (driver.Record, bool, error)) (driver.Record, bool, error)
)

// The handler ends before the stored lease does, and not before the one that
// the lost claim was rebuilt with.
func TestClaimUsesTheStoredLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, &proxy{
			Store: store,
			create: func(_ context.Context, r driver.Record, over time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
				if _, _, err := next(); err != nil {
					return driver.Record{}, false, err
				}
				time.Sleep(30 * time.Second)
				return next()
			},
			change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
				if !c.Lease.IsZero() {
					return driver.Record{}, false, errNetwork // no heartbeat arrives
				}
				return next()
			},
		}, &idempotent.Config{Lease: time.Minute})
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
	x := newExecutor(t, &proxy{Store: store, create: func(ctx context.Context, r driver.Record, _ time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if _, _, err := next(); err != nil {
			return driver.Record{}, false, err
		}
		if _, _, err := store.Change(ctx, driver.Fence{ID: r.ID, Owner: r.Owner}, driver.Change{Status: driver.Completed, Data: []byte(`"done"`), Expires: r.Expires}); err != nil {
			return driver.Record{}, false, err
		}
		return next()
	}}, nil)
	try(t.Context(), t, x, mustNotRun(t)).returned("done").ended(idempotent.OutcomeReplayed).roundTrips(1)
}

// An answer that comes after the lease has lapsed makes nobody an owner: the
// attempt is refunded, and the call claims again.
func TestClaimAnsweredTooLate(t *testing.T) {
	for _, maxAttempts := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New(0)
			late := true
			x := newExecutor(t, &proxy{Store: store, create: func(_ context.Context, _ driver.Record, _ time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
				record, ok, err := next()
				if late {
					late = false
					time.Sleep(2 * time.Minute)
				}
				return record, ok, err
			}}, &idempotent.Config{Lease: time.Minute, MaxAttempts: maxAttempts})
			try(t.Context(), t, x, func(ctx context.Context) (string, error) {
				r := stored(t, store)
				check.Equal(t, r.Refunds, 0, "the handler runs on")
				check.Equal(t, r.Attempt, 1)
				check.True(t, r.Lease.After(time.Now()))
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
		creates := 0
		x := newExecutor(t, &proxy{Store: memory.New(0), create: func(context.Context, driver.Record, time.Time, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			creates++
			return driver.Record{}, false, nil
		}}, nil)
		_, _, err := do(t.Context(), x, mustNotRun(t))
		check.Is(t, err, idempotent.ErrInProgress)
		check.True(t, creates >= 5, creates)
		check.True(t, creates <= 20, creates)
	})
}

func TestUnknownStatusIsRefused(t *testing.T) {
	store := memory.New(0)
	check.Must(t, store.Put(driver.Record{ID: recordID(t, theKey), Status: "PAUSED", Lease: time.UnixMilli(1), Expires: time.Now().Add(time.Hour)}))
	try(t.Context(), t, newExecutor(t, store, nil), mustNotRun(t)).is(idempotent.ErrStore)
}

// once applies a hook to the first call.
func once(hook createHook) createHook {
	first := true
	return func(ctx context.Context, r driver.Record, over time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if !first {
			return next()
		}
		first = false
		return hook(ctx, r, over, next)
	}
}

// A store may return an expired record: dynamo reads one after a
// TransactionConflictException, and a waiting call reads one with Get.
func TestExpiredRecordIsNotReplayed(t *testing.T) {
	store := memory.New(0)
	id := recordID(t, theKey)
	check.Must(t, store.Put(driver.Record{ID: id, Status: driver.Completed, Owner: "x", Attempt: 1,
		Expires: time.Now().Add(-48 * time.Hour), Data: []byte(`"of the day before yesterday"`)}))
	conflict := true
	p := &proxy{Store: store, create: func(ctx context.Context, _ driver.Record, _ time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if conflict { // as dynamo.Store.lost does
			conflict = false
			r, err := store.Get(ctx, id)
			return r, false, err
		}
		return next()
	}}
	try(t.Context(), t, newExecutor(t, p, nil), returns("today's")).returned("today's")
}

// A context that is cancelled during the claim is reported as cancelled, in an
// error type of this package. Nothing counts as released.
func TestCancelDuringTheClaimIsReported(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := &proxy{Store: memory.New(0), create: func(_ context.Context, _ driver.Record, _ time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		defer cancel()
		return next()
	}}
	_, event, err := do(ctx, newExecutor(t, p, nil), mustNotRun(t))
	check.Is(t, err, context.Canceled)
	check.False(t, errors.Is(err, context.DeadlineExceeded))
	check.False(t, strings.HasPrefix(fmt.Sprintf("%T", err), "*fmt."), "Do promises one of this package's types or fn's own")
	check.Differ(t, event.Outcome, idempotent.OutcomeReleased, "'released' means that the handler failed or panicked; it did not run")
}
