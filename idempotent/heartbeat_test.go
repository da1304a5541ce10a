package idempotent_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
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

func TestHandlerThatEndsBeforeTheFirstHeartbeatHasOneGoroutine(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{Lease: 30 * time.Second})
	try(t.Context(), t, x, func(context.Context) (string, error) {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		check.True(t, !strings.Contains(string(stacks), "(*heartbeat)"), string(stacks))
		return "", nil
	}).succeeded()
}

// The caller learns that its time ended, and the operator why.
func TestCutOffCallReportsItsHeartbeat(t *testing.T) {
	for name, fails := range map[string]bool{"one that always fails": true, "one that failed once": false} {
		bubble(t, name, func(t *testing.T) {
			beats := 0
			x := newExecutor(t, hooked(memory.New(0), on(isExtend, func(w write) (driver.Record, bool, error) {
				if beats++; fails || beats == 1 {
					return driver.Record{}, false, errNetwork
				}
				return w.send()
			})), &idempotent.Config{Lease: 30 * time.Second})
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
			if reported {
				check.Equal(t, failed.Op, "extend")
				check.True(t, failed.Executed)
				check.Is(t, failed, errNetwork)
			}
		})
	}
}

// Whatever becomes of the heartbeat, the handler's context ends before the
// lease.
func TestHandlerEndsBeforeItsLease(t *testing.T) {
	for name, beat := range map[string]hook{"errors": notSent(errNetwork), "nothing": hangs} {
		bubble(t, name, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, hooked(store, on(isExtend, beat)), &idempotent.Config{Lease: 30 * time.Second})
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
	}
}

// A handler may run past its lease while the store is away. It regains the
// lease if nobody has taken over.
func TestHeartbeatRevivesALeaseThatNobodyTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		begun := time.Now()
		x := newExecutor(t, hooked(store, on(isChange, func(w write) (driver.Record, bool, error) {
			if w.ctx.Err() != nil || !w.change.Lease.IsZero() && time.Since(begun) < 35*time.Second {
				return driver.Record{}, false, errNetwork
			}
			return w.send()
		})), &idempotent.Config{Lease: 30 * time.Second})
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
			takeOver(t, store)
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
		x := newExecutor(t, hooked(store, on(isExtend, func(w write) (driver.Record, bool, error) {
			_, ok, err := w.send()
			check.True(t, ok)
			check.Nil(t, err)
			return w.send()
		})), &idempotent.Config{Lease: 30 * time.Second})
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
		x := newExecutor(t, hooked(store, on(isChange, func(w write) (driver.Record, bool, error) {
			if w.change.Lease.IsZero() {
				finished = true
				check.Equal(t, beating, 0, "a heartbeat is under way")
				return w.send()
			}
			check.False(t, finished, "a heartbeat after the end")
			beating++
			<-w.ctx.Done()          // it hangs
			time.Sleep(time.Second) // and does not return at once
			beating--
			return driver.Record{}, false, w.ctx.Err()
		})), &idempotent.Config{Lease: 30 * time.Second})
		try(t.Context(), t, x, func(context.Context) (string, error) {
			time.Sleep(11 * time.Second)
			return "", nil
		}).succeeded()
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

// The heartbeat tries again when a connection hangs.
func TestHeartbeatOutlivesAHungExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Lease: 30 * time.Second}
		p := hooked(store, onFirst(isExtend, hangs))
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
		try(t.Context(), t, newExecutor(t, store, config), stubborn(0, &running, &most)).is(idempotent.ErrInProgress)
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
		p := hooked(store, on(isCreate, delayed(45*time.Second)))
		try(t.Context(), t, newExecutor(t, p, config), func(ctx context.Context) (string, error) {
			time.Sleep(30 * time.Second)
			check.Nil(t, ctx.Err(), "stopped within 30 s, with a healthy store and heartbeat")
			try(context.Background(), t, newExecutor(t, store, config), returns("second run")).is(idempotent.ErrInProgress)
			return "done", nil
		})
	})
}

// After a conflict with a transaction, a store returns the call's own record
// with the old lease. The heartbeat does not take that for a success.
func TestHeartbeatIsRepeatedAfterAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		p := hooked(hooked(store, onFirst(isExtend, meets(store))), onFirst(isExtend, meets(store))) // as dynamo.Store.lost does
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
