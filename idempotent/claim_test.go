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
)

type (
	createHook = func(context.Context, driver.Record, time.Time, func() (driver.Record, bool, error)) (driver.Record, bool, error)
	changeHook = func(context.Context, driver.Fence, driver.Change, func() (driver.Record, bool, error)) (driver.Record, bool, error)
)

// The client of a store repeats a claim whose answer was lost, and meets the
// record that its first copy left: it is the call's own, with the lease that is
// stored.
func TestClaimMeetsItsOwnCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		begun := time.Now()
		x := newExecutor(t, &proxy{Store: store, create: func(ctx context.Context, r driver.Record, over time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if _, _, err := next(); err != nil {
				return driver.Record{}, false, err
			}
			time.Sleep(30 * time.Second)
			r.Lease = time.Now().Add(time.Minute) // as a rebuilt claim would have it
			return store.Create(ctx, r, over, nil)
		}}, &idempotent.Config{Lease: time.Minute})
		value, event, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
			if lease := stored(t, store).Lease; !lease.Equal(begun.Add(time.Minute)) {
				t.Errorf("the stored lease ends after %v", lease.Sub(begun))
			}
			return "ours", nil
		})
		if err != nil || value != "ours" || event.Attempt != 1 || event.Outcome != idempotent.OutcomeExecuted {
			t.Errorf("got %q, %v, %+v", value, err, event)
		}
	})
}

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
		_, _, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			if ran := time.Since(begun); ran != time.Minute-500*time.Millisecond {
				t.Errorf("the handler ended %v after the claim", ran)
			}
			return "", ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
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
	value, event, err := do(t.Context(), x, mustNotRun(t))
	if err != nil || value != "done" || event.Outcome != idempotent.OutcomeReplayed || event.RoundTrips != 1 {
		t.Errorf("got %q, %v, %+v", value, err, event)
	}
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
			value, event, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
				if r := stored(t, store); r.Refunds != 0 || r.Attempt != 1 || !r.Lease.After(time.Now()) {
					t.Errorf("the handler runs on %+v", r)
				}
				return "done", nil
			})
			if err != nil || value != "done" || event.Attempt != 1 {
				t.Errorf("got %q, %v, %+v", value, err, event)
			}
		})
	}
}

func TestClaimOfAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, event, err := do(ctx, newExecutor(t, unusable{}, nil), mustNotRun(t))
	if !errors.Is(err, context.Canceled) || !errors.Is(err, idempotent.ErrStore) || event.RoundTrips != 0 {
		t.Errorf("got %v, %+v", err, event)
	}
}

// A call that loses a race claims again, but not for ever.
func TestClaimGivesUpAfterManyLostRaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		creates := 0
		x := newExecutor(t, &proxy{Store: memory.New(0), create: func(context.Context, driver.Record, time.Time, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			creates++
			return driver.Record{}, false, nil
		}}, nil)
		if _, _, err := do(t.Context(), x, mustNotRun(t)); !errors.Is(err, idempotent.ErrInProgress) || creates < 5 || creates > 20 {
			t.Errorf("after %d: %v", creates, err)
		}
	})
}

func TestUnknownStatusIsRefused(t *testing.T) {
	store := memory.New(0)
	if err := store.Put(driver.Record{ID: recordID(t, theKey), Status: "PAUSED", Lease: time.UnixMilli(1), Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := do(t.Context(), newExecutor(t, store, nil), mustNotRun(t)); !errors.Is(err, idempotent.ErrStore) {
		t.Error(err)
	}
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
	if err := store.Put(driver.Record{ID: id, Status: driver.Completed, Owner: "x", Attempt: 1,
		Expires: time.Now().Add(-48 * time.Hour), Data: []byte(`"of the day before yesterday"`)}); err != nil {
		t.Fatal(err)
	}
	conflict := true
	p := &proxy{Store: store, create: func(ctx context.Context, _ driver.Record, _ time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if conflict { // as dynamo.Store.lost does
			conflict = false
			r, err := store.Get(ctx, id)
			return r, false, err
		}
		return next()
	}}
	value, event, err := do(t.Context(), newExecutor(t, p, nil), returns("today's"))
	if err != nil || value != "today's" {
		t.Errorf("got %q, %v, %+v", value, err, event)
	}
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
	if !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled, but: %v", err)
	}
	if strings.HasPrefix(fmt.Sprintf("%T", err), "*fmt.") {
		t.Errorf("Do promises one of this package's types or fn's own: %T", err)
	}
	if event.Outcome == idempotent.OutcomeReleased {
		t.Error("'released' means that the handler failed or panicked; it did not run")
	}
}
