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
)

type (
	createHook = func(context.Context, driver.Record, time.Time, func() (driver.Record, bool, error)) (driver.Record, bool, error)
	changeHook = func(context.Context, driver.Fence, driver.Change, func() (driver.Record, bool, error)) (driver.Record, bool, error)
)

// The client of a store retries a claim whose answer was lost, and meets the
// record that its first copy left: it is ours, with the lease that is stored.
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

// The handler must end before the stored lease does, not before the one that
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
					return driver.Record{}, false, errNetwork // no heartbeat gets through
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

// Meeting its own record finished, a claim replays: another copy of this call
// has run.
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
// attempt is given back, and the call goes round.
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

// The attempts before it must still count.
func TestTakeoverAnsweredTooLateKeepsTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		late := true
		x := newExecutor(t, &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			record, ok, err := next()
			if late && c.Owner != "" {
				late = false
				time.Sleep(2 * time.Minute)
			}
			return record, ok, err
		}}, &idempotent.Config{Lease: time.Minute, MaxAttempts: 2})
		if _, _, err := do(t.Context(), x, failsWith(errCrash)); err != errCrash {
			t.Fatal(err)
		}
		_, event, err := do(t.Context(), x, returns("done"))
		if r := stored(t, store); err != nil || event.Attempt != 3 || r.Used() != 2 {
			t.Errorf("%v, %+v, %+v", err, event, r)
		}
	})
}

// What became of a claim that failed is not known. It is given back, so that
// neither its lease nor its attempt stands in the way of the next call.
func TestClaimFailedIsGivenBack(t *testing.T) {
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
		var failed *idempotent.StoreError
		if !errors.As(err, &failed) || failed.Executed || !errors.Is(err, errNetwork) || event.Outcome != idempotent.OutcomeFailed {
			t.Errorf("applied %v: first: %v, %+v", applied, err, event)
		}
		if value, _, err := do(t.Context(), x, returns("second")); err != nil || value != "second" {
			t.Errorf("applied %v: second: %q, %v", applied, value, err)
		}
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

func TestTakeoverAfterTheSkew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Lease: 10 * time.Second})
		crash(t, store, x)
		first := stored(t, store)
		for _, end := range []time.Duration{-time.Second, 0, time.Second} {
			time.Sleep(time.Until(first.Lease.Add(end)))
			if _, _, err := do(t.Context(), x, mustNotRun(t)); !errors.Is(err, idempotent.ErrInProgress) {
				t.Fatalf("%v after the lease: %v", time.Since(first.Lease), err)
			}
		}
		time.Sleep(time.Millisecond)
		value, event, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
			claim, ok := idempotent.FromContext(ctx)
			if !ok || claim.Attempt != 2 || !claim.Takeover() || claim.Operation != "op" {
				t.Errorf("claim: %+v", claim)
			}
			r := stored(t, store)
			if r.Owner == first.Owner || r.Expires.Before(first.Expires) || r.Fingerprint != first.Fingerprint {
				t.Errorf("taken over: %+v", r)
			}
			return "second", nil
		})
		if err != nil || value != "second" || event.Outcome != idempotent.OutcomeTakeover || event.Attempt != 2 || event.RoundTrips != 3 {
			t.Errorf("got %q, %v, %+v", value, err, event)
		}
	})
}

// crash leaves a record as a process does that dies while its handler runs.
func crash(t *testing.T, store driver.Store, like *idempotent.Executor) {
	t.Helper()
	dying := &proxy{Store: store, change: func(context.Context, driver.Fence, driver.Change, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		return driver.Record{}, false, errors.New("the process is dead")
	}}
	x := newExecutor(t, dying, &idempotent.Config{Lease: 10 * time.Second, Reserve: time.Millisecond})
	if _, _, err := do(t.Context(), x, failsWith(errors.New("killed"))); err == nil {
		t.Fatal("no error")
	}
}

// Retention never moves back: a successor with a short lease must not make
// the record of a long first attempt vanish.
func TestTakeoverKeepsTheLongerRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		id := recordID(t, theKey)
		far := time.Now().Add(1000 * time.Hour)
		if err := store.Put(driver.Record{ID: id, Status: driver.InProgress, Owner: "a", Attempt: 1, Lease: time.Now().Add(-time.Hour), Expires: far}); err != nil {
			t.Fatal(err)
		}
		_, _, err := do(t.Context(), newExecutor(t, store, nil), func(context.Context) (string, error) {
			if r := stored(t, store); !r.Expires.Equal(far) {
				t.Errorf("it expires %v earlier", far.Sub(r.Expires))
			}
			return "", nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A record in progress outlives its lease by the retention and the skew.
func TestExpirationInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Lease: time.Minute, Retention: time.Hour, ClockSkew: 3 * time.Second})
		begun := time.Now()
		if _, _, err := do(t.Context(), x, func(context.Context) (string, error) {
			if r := stored(t, store); !r.Expires.Equal(begun.Add(time.Minute + time.Hour + 3*time.Second)) {
				t.Errorf("in progress it expires after %v", r.Expires.Sub(begun))
			}
			return "", nil
		}); err != nil {
			t.Fatal(err)
		}
		if r := stored(t, store); !r.Expires.Equal(begun.Add(time.Hour + 3*time.Second)) {
			t.Errorf("completed it expires after %v", r.Expires.Sub(begun))
		}
		time.Sleep(time.Hour + 4*time.Second)
		if value, _, err := do(t.Context(), x, mustNotRun(t)); err != nil || value != "" {
			t.Errorf("within the skew after the retention: %q, %v", value, err)
		}
		time.Sleep(3 * time.Second)
		if value, _, err := do(t.Context(), x, returns("again")); err != nil || value != "again" {
			t.Errorf("after the retention: %q, %v", value, err)
		}
	})
}

// A lost race is gone round; a store in which every race is lost is busy with
// winners.
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

func TestFailOpen(t *testing.T) {
	open := &idempotent.Config{OnStoreError: idempotent.FailOpen}
	down := func(context.Context, driver.Record, time.Time, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		return driver.Record{}, false, errNetwork
	}
	lost := func(_ context.Context, _ driver.Record, _ time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if _, _, err := next(); err != nil {
			return driver.Record{}, false, err
		}
		return driver.Record{}, false, errNetwork
	}
	for name, create := range map[string]createHook{"the claim was not stored": once(down), "its answer was lost": once(lost)} {
		t.Run(name+", success", func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, &proxy{Store: store, create: create}, open)
			value, event, err := do(t.Context(), x, returns("ran"))
			if err != nil || value != "ran" || event.Outcome != idempotent.OutcomeBypassed || !errors.Is(event.Err, errNetwork) {
				t.Errorf("got %q, %v, %+v", value, err, event)
			}
			if value, _, err := do(t.Context(), x, mustNotRun(t)); err != nil || value != "ran" {
				t.Errorf("the end was not recorded: %q, %v", value, err)
			}
		})
	}
	t.Run("error", func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, &proxy{Store: store, create: once(lost)}, open)
		first := errors.New("try again")
		if _, _, err := do(t.Context(), x, failsWith(first)); err != first {
			t.Errorf("first: %v", err)
		}
		if value, _, err := do(t.Context(), x, returns("second")); err != nil || value != "second" {
			t.Errorf("second: %q, %v", value, err)
		}
	})
	t.Run("the store stays down", func(t *testing.T) {
		x := newExecutor(t, &proxy{Store: unusable{}, create: down, change: func(context.Context, driver.Fence, driver.Change, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			return driver.Record{}, false, errNetwork
		}}, open)
		value, event, err := do(t.Context(), x, returns("ran"))
		if err != nil || value != "ran" || event.Outcome != idempotent.OutcomeBypassed || event.RoundTrips != 2 {
			t.Errorf("got %q, %v, %+v", value, err, event)
		}
	})
	t.Run("not for what is wrong for good", func(t *testing.T) {
		x := newExecutor(t, &proxy{Store: memory.New(0), create: func(context.Context, driver.Record, time.Time, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			return driver.Record{}, false, errors.New("no such table")
		}}, open)
		if _, _, err := do(t.Context(), x, mustNotRun(t)); !errors.Is(err, idempotent.ErrStore) {
			t.Error(err)
		}
	})
	t.Run("another completed meanwhile", func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, &proxy{Store: store, create: once(down)}, open)
		value, _, err := do(t.Context(), x, func(context.Context) (string, error) {
			if _, _, err := do(context.Background(), newExecutor(t, store, nil), returns("theirs")); err != nil {
				t.Error(err)
			}
			return "ours", nil
		})
		if err != nil || value != "theirs" {
			t.Errorf("got %q, %v", value, err)
		}
	})
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
