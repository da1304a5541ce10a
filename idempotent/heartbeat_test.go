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
)

func TestHeartbeatEveryThird(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		begun := time.Now()
		_, event, err := do(t.Context(), newExecutor(t, store, &idempotent.Config{Lease: 30 * time.Second}), func(ctx context.Context) (string, error) {
			for range 10 {
				time.Sleep(10*time.Second + time.Millisecond)
				r := stored(t, store)
				if left := time.Until(r.Lease); left < 29*time.Second || r.Expires.Before(r.Lease.Add(24*time.Hour)) {
					t.Errorf("after %v the lease lasts %v more, the record %v", time.Since(begun), left, time.Until(r.Expires))
				}
			}
			return "", ctx.Err()
		})
		if err != nil || event.RoundTrips != 12 {
			t.Errorf("got %v, %+v", err, event)
		}
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
				if errors.Is(err, idempotent.ErrStore) || errors.Is(err, idempotent.ErrTimedOut) != fails || reported != fails {
					t.Errorf("%v, observed %v", err, event.Err)
				}
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
				_, _, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
					select {
					case <-ctx.Done():
					case <-time.After(time.Hour):
					}
					if ran := time.Since(begun); ran != 29500*time.Millisecond {
						t.Errorf("it ended after %v", ran)
					}
					if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
						t.Errorf("because of %v", context.Cause(ctx))
					}
					return "", nil
				})
				if err != nil {
					t.Error(err)
				}
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
		_, _, err := do(t.Context(), x, func(context.Context) (string, error) {
			time.Sleep(45 * time.Second)
			if _, _, err := do(t.Context(), newExecutor(t, store, nil), mustNotRun(t)); !errors.Is(err, idempotent.ErrInProgress) {
				t.Errorf("a duplicate gets %v", err)
			}
			return "", nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A heartbeat that meets another owner cancels the handler's context with that
// cause.
func TestHeartbeatLosesTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		begun := time.Now()
		_, event, err := do(t.Context(), newExecutor(t, store, &idempotent.Config{Lease: 30 * time.Second}), func(ctx context.Context) (string, error) {
			r := stored(t, store)
			r.Owner, r.Attempt, r.Lease = "another", 2, time.Now().Add(time.Hour)
			if err := store.Put(r); err != nil {
				t.Error(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			if ran := time.Since(begun); ran != 10*time.Second {
				t.Errorf("it ended after %v", ran)
			}
			if !errors.Is(context.Cause(ctx), idempotent.ErrLeaseLost) {
				t.Errorf("because of %v", context.Cause(ctx))
			}
			return "", ctx.Err()
		})
		if !errors.Is(err, idempotent.ErrLeaseLost) || event.Outcome != idempotent.OutcomeLeaseLost {
			t.Errorf("got %v, %+v", err, event)
		}
	})
}

// A client that repeats a heartbeat meets the lease that the first copy set:
// that is no loss.
func TestHeartbeatThatMeetsItsOwnCopyKeepsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if !c.Lease.IsZero() {
				if _, ok, err := next(); !ok || err != nil {
					t.Errorf("first copy: %v, %v", ok, err)
				}
			}
			return next()
		}}, &idempotent.Config{Lease: 30 * time.Second})
		_, _, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
			time.Sleep(115 * time.Second)
			return "", ctx.Err()
		})
		if err != nil {
			t.Error(err)
		}
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
				if beating != 0 {
					t.Error("a heartbeat is under way")
				}
				return next()
			}
			if finished {
				t.Error("a heartbeat after the end")
			}
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
		if err != nil || !finished {
			t.Error(err)
		}
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
			_, _, err := do(context.Background(), newExecutor(t, p, config), func(ctx context.Context) (string, error) {
				value, err := stubborn(2*time.Minute, &running, &most)(ctx)
				if ctx.Err() != nil {
					t.Errorf("the handler was stopped: %v", context.Cause(ctx))
				}
				return value, err
			})
			if err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(35 * time.Second)
		_, event, err := do(t.Context(), newExecutor(t, store, config), stubborn(0, &running, &most))
		if !errors.Is(err, idempotent.ErrInProgress) || most.Load() > 1 {
			t.Errorf("another process got %v, %+v; at most %d at once", err, event, most.Load())
		}
		<-done
	})
}

// After an outage as long as the lease, the heartbeat extends the lease that is
// still its own.
func TestHeartbeatRecoversFromAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Lease: 30 * time.Second}
		begun := time.Now()
		p := &proxy{Store: store, change: func(ctx context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if since := time.Since(begun); isExtend(c) && since < 45*time.Second {
				return driver.Record{}, false, errNetwork
			}
			return next()
		}}
		_, _, err := do(t.Context(), newExecutor(t, p, config), func(ctx context.Context) (string, error) {
			time.Sleep(2 * time.Minute) // ignores its context, as Config.Lease allows for
			if _, event, err := do(context.Background(), newExecutor(t, store, config), returns("second run")); !errors.Is(err, idempotent.ErrInProgress) {
				t.Errorf("the store is back since 75 s, nobody took over, and yet the lease was not extended: %v, %+v", err, event)
			}
			return "done", nil
		})
		_ = err
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
			if ctx.Err() != nil {
				t.Errorf("stopped within 30 s, with a healthy store and heartbeat: %v", context.Cause(ctx))
			}
			if _, event, err := do(context.Background(), newExecutor(t, store, config), returns("second run")); !errors.Is(err, idempotent.ErrInProgress) {
				t.Errorf("another process got %v, %+v", err, event)
			}
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
		_, event, err := do(t.Context(), newExecutor(t, p, &idempotent.Config{Lease: time.Minute}), func(ctx context.Context) (string, error) {
			select {
			case <-ctx.Done():
				return "", context.Cause(ctx)
			case <-time.After(2 * time.Minute):
				return "done", nil
			}
		})
		if err != nil {
			t.Errorf("two conflicts, 20 s apart, in a healthy store ended a lease of 1 min: %v, %+v", err, event)
		}
	})
}
