package idempotent_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

func TestHeartbeatEveryThird(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		try(t.Context(), t, newExecutor(t, store, &idempotent.Config{Lease: 30 * time.Second}), func(ctx context.Context) (string, error) {
			for range 10 {
				time.Sleep(10*time.Second + time.Millisecond)
				r := stored(t, store)
				left := time.Until(r.Lease)
				check.True(t, left >= 29*time.Second, left)
				check.False(t, r.Expires.Before(r.Lease.Add(24*time.Hour)))
			}
			return "", ctx.Err()
		}).succeeded().roundTrips(12)
	})
}

// The caller learns that its time ended, and the operator why.
func TestCutOffCallReportsItsHeartbeat(t *testing.T) {
	for name, fails := range map[string]bool{"one that always fails": true, "one that failed once": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				beats := 0
				x := newExecutor(t, &proxy{Store: memory.New(0), change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
					if c.Lease.IsZero() {
						return next()
					}
					if beats++; fails || beats == 1 {
						return driver.Record{}, false, errNetwork
					}
					return next()
				}}, &idempotent.Config{Lease: 30 * time.Second})
				_, event, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
					select {
					case <-ctx.Done():
						return "", ctx.Err()
					case <-time.After(time.Minute):
						return "", errCrash
					}
				})
				failed, reported := errors.AsType[*idempotent.StoreError](event.Err)
				check.False(t, errors.Is(err, idempotent.ErrStore))
				check.Equal(t, errors.Is(err, idempotent.ErrTimedOut), fails)
				check.Equal(t, reported, fails)
				if reported && (failed.Op != "extend" || !failed.Executed || !errors.Is(failed, errNetwork)) {
					t.Errorf("observed %+v", *failed)
				}
			})
		})
	}
}

// Whatever becomes of the heartbeat, the handler's context ends before the
// lease.
func TestHandlerEndsBeforeItsLease(t *testing.T) {
	for name, beat := range map[string]func(ctx context.Context) (driver.Record, bool, error){
		"errors": func(context.Context) (driver.Record, bool, error) { return driver.Record{}, false, errNetwork },
		"nothing": func(ctx context.Context) (driver.Record, bool, error) {
			<-ctx.Done()
			return driver.Record{}, false, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New(0)
				x := newExecutor(t, &proxy{Store: store, change: func(ctx context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
					if !c.Lease.IsZero() {
						return beat(ctx)
					}
					return next()
				}}, &idempotent.Config{Lease: 30 * time.Second})
				begun := time.Now()
				try(t.Context(), t, x, func(ctx context.Context) (string, error) {
					select {
					case <-ctx.Done():
					case <-time.After(time.Hour):
					}
					check.Equal(t, time.Since(begun), 29500*time.Millisecond)
					check.Is(t, context.Cause(ctx), context.DeadlineExceeded)
					return "", nil
				}).succeeded()
			})
		})
	}
}

// A handler may run past its lease while the store is away. It regains the
// lease if nobody has taken over.
func TestHeartbeatRevivesALeaseThatNobodyTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		begun := time.Now()
		x := newExecutor(t, &proxy{Store: store, change: func(ctx context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if ctx.Err() != nil || !c.Lease.IsZero() && time.Since(begun) < 35*time.Second {
				return driver.Record{}, false, errNetwork
			}
			return next()
		}}, &idempotent.Config{Lease: 30 * time.Second})
		try(t.Context(), t, x, func(context.Context) (string, error) {
			time.Sleep(45 * time.Second)
			try(t.Context(), t, newExecutor(t, store, nil), mustNotRun(t)).is(idempotent.ErrInProgress)
			return "", nil
		}).succeeded()
	})
}

// A heartbeat that meets another owner cancels the handler's context with that
// cause.
func TestHeartbeatLosesTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		begun := time.Now()
		try(t.Context(), t, newExecutor(t, store, &idempotent.Config{Lease: 30 * time.Second}), func(ctx context.Context) (string, error) {
			r := stored(t, store)
			r.Owner, r.Attempt, r.Lease = "another", 2, time.Now().Add(time.Hour)
			check.Nil(t, store.Put(r))
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			check.Equal(t, time.Since(begun), 10*time.Second)
			check.Is(t, context.Cause(ctx), idempotent.ErrLeaseLost)
			return "", ctx.Err()
		}).is(idempotent.ErrLeaseLost).ended(idempotent.OutcomeLeaseLost)
	})
}

// A client that repeats a heartbeat meets the lease that the first copy set:
// that is no loss.
func TestHeartbeatThatMeetsItsOwnCopyKeepsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if !c.Lease.IsZero() {
				_, ok, err := next()
				check.True(t, ok)
				check.Nil(t, err)
			}
			return next()
		}}, &idempotent.Config{Lease: 30 * time.Second})
		try(t.Context(), t, x, func(ctx context.Context) (string, error) {
			time.Sleep(115 * time.Second)
			return "", ctx.Err()
		}).succeeded()
	})
}

// No heartbeat is under way when the record is finished, and none comes after.
func TestHeartbeatIsJoinedBeforeTheRecordIsFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		beating, finished := 0, false
		x := newExecutor(t, &proxy{Store: store, change: func(ctx context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if c.Lease.IsZero() {
				finished = true
				check.Equal(t, beating, 0, "a heartbeat is under way")
				return next()
			}
			check.False(t, finished, "a heartbeat after the end")
			beating++
			<-ctx.Done()            // it hangs
			time.Sleep(time.Second) // and does not return at once
			beating--
			return driver.Record{}, false, ctx.Err()
		}}, &idempotent.Config{Lease: 30 * time.Second})
		_, _, err := do(t.Context(), x, func(context.Context) (string, error) {
			time.Sleep(11 * time.Second)
			return "", nil
		})
		check.Nil(t, err)
		check.True(t, finished)
		time.Sleep(time.Hour)
	})
}

// stubborn is a handler that ignores its context.
func stubborn(d time.Duration, running, most *atomic.Int32) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(d)
		return "done", nil
	}
}

func isExtend(c driver.Change) bool { return !c.Lease.IsZero() && c.Owner == "" }

// The heartbeat tries again when a connection hangs.
func TestHeartbeatOutlivesAHungExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Lease: 30 * time.Second}
		hung := false
		p := &proxy{Store: store, change: func(ctx context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if isExtend(c) && !hung {
				hung = true
				<-ctx.Done()
				return driver.Record{}, false, errNetwork
			}
			return next()
		}}
		var running, most atomic.Int32
		done := make(chan struct{})
		go func() {
			defer close(done)
			try(context.Background(), t, newExecutor(t, p, config), func(ctx context.Context) (string, error) {
				value, err := stubborn(2*time.Minute, &running, &most)(ctx)
				check.Nil(t, ctx.Err(), "the handler was stopped")
				return value, err
			}).succeeded()
		}()
		time.Sleep(35 * time.Second)
		_, _, err := do(t.Context(), newExecutor(t, store, config), stubborn(0, &running, &most))
		check.Is(t, err, idempotent.ErrInProgress)
		check.True(t, most.Load() <= 1, most.Load())
		<-done
	})
}

// A slow answer to the claim leaves less than a third of the lease. The first
// heartbeat comes in time.
func TestFirstHeartbeatComesBeforeTheLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Lease: time.Minute}
		p := &proxy{Store: store, create: func(_ context.Context, _ driver.Record, _ time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			r, ok, err := next()
			time.Sleep(45 * time.Second)
			return r, ok, err
		}}
		_, _, err := do(t.Context(), newExecutor(t, p, config), func(ctx context.Context) (string, error) {
			time.Sleep(30 * time.Second)
			check.Nil(t, ctx.Err(), "stopped within 30 s, with a healthy store and heartbeat")
			try(context.Background(), t, newExecutor(t, store, config), returns("second run")).is(idempotent.ErrInProgress)
			return "done", nil
		})
		_ = err
	})
}

// After a conflict with a transaction, a store returns the call's own record
// with the old lease. The heartbeat does not take that for a success.
func TestHeartbeatIsRepeatedAfterAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		conflicts := 0
		p := &proxy{Store: store, change: func(ctx context.Context, f driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if isExtend(c) && conflicts < 2 { // as dynamo.Store.lost does
				conflicts++
				r, err := store.Get(ctx, f.ID)
				return r, false, err
			}
			return next()
		}}
		try(t.Context(), t, newExecutor(t, p, &idempotent.Config{Lease: time.Minute}), func(ctx context.Context) (string, error) {
			select {
			case <-ctx.Done():
				return "", context.Cause(ctx)
			case <-time.After(2 * time.Minute):
				return "done", nil
			}
		}).succeeded()
	})
}
