package idempotent_test

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// stubborn is a handler that does not look at its context.
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

// A joiner that leads after the first leader failed claims with the clock of
// the moment it arrived: its lease starts in the past.
func TestJoinerClaimsWithAStaleClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Lease: time.Minute, Wait: time.Hour}
		x := newExecutor(t, store, config)
		first := inBackground(t, x, 50*time.Second, "", errors.New("try again"))
		var running, most atomic.Int32
		joiner := make(chan struct{})
		go func() {
			defer close(joiner)
			_, event, err := do(context.Background(), x, func(ctx context.Context) (string, error) {
				if left := time.Until(stored(t, store).Lease); left < 59*time.Second {
					t.Errorf("a fresh claim has a lease of %v", left)
				}
				value, err := stubborn(40*time.Second, &running, &most)(ctx)
				if ctx.Err() != nil {
					t.Errorf("the handler's context ended within 40 s of a lease of 1 min with heartbeat: %v", context.Cause(ctx))
				}
				return value, err
			})
			if err != nil {
				t.Error(err)
			}
			if event.Store > time.Second {
				t.Errorf("Event.Store is %v, which is the wait for the leader", event.Store)
			}
		}()
		<-first
		time.Sleep(15 * time.Second) // 65 s: the joiner has run for 15 s
		_, event, err := do(t.Context(), newExecutor(t, store, &idempotent.Config{Lease: time.Minute}), stubborn(0, &running, &most))
		if !errors.Is(err, idempotent.ErrInProgress) {
			t.Errorf("another process got %v, %+v", err, event)
		}
		if most.Load() > 1 {
			t.Error("two handlers ran at once, with healthy clocks and store")
		}
		<-joiner
	})
}

// One connection that hangs eats the whole lease: the heartbeat tries once.
func TestOneHungExtendLosesTheLease(t *testing.T) {
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

// After an outage as long as the lease the heartbeat's context is born dead:
// it neither extends the lease that is still its own, nor hears of its loss.
func TestHeartbeatNeverRecovers(t *testing.T) {
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

// A slow answer to the claim leaves less than a third of the lease: the first
// heartbeat comes after its end.
func TestFirstHeartbeatComesTooLate(t *testing.T) {
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

// A Reserve that no default lease can hold, or that overflows, is a mistake of
// the Config, which New promises to report.
func TestReserveBeyondTheLease(t *testing.T) {
	for _, config := range []*idempotent.Config{
		{Reserve: 2 * time.Minute},
		{Reserve: math.MaxInt64, Lease: time.Hour},
	} {
		x, err := idempotent.New("op", memory.New(0), config)
		if err == nil {
			_, _, err = do(t.Context(), x, returns("done"))
			t.Errorf("Reserve %v, Lease %v: New accepts it, and each call gets %v", config.Reserve, config.Lease, err)
		}
	}
}

// Config.Lease is given, so the doc of Config.Lease allows a shorter deadline;
// but the lease is cut to it and the heartbeat is off.
func TestShorterDeadlineWithALease(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Lease: time.Minute}
		invocation, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
		defer cancel()
		short, cancel := context.WithTimeout(invocation, 2*time.Second)
		defer cancel()
		_, _, _ = do(short, newExecutor(t, store, config), func(context.Context) (string, error) {
			time.Sleep(10 * time.Second)
			if _, event, err := do(invocation, newExecutor(t, store, config), returns("second run")); !errors.Is(err, idempotent.ErrInProgress) {
				t.Errorf("another got %v, %+v", err, event)
			}
			return "", nil
		})
	})
}

// The library itself shortens the deadline that a nested call gets: the lease
// of that one ends before the invocation does.
func TestNestedCallInAnInvocation(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Reserve: 5 * time.Second}
		outer := newExecutor(t, store, config)
		inner, err := idempotent.New("inner", store, config)
		if err != nil {
			t.Fatal(err)
		}
		invocation, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		key := idempotent.Key{ID: "k"}
		_, _, _ = do(invocation, outer, func(ctx context.Context) (string, error) {
			return idempotent.Do(ctx, inner, key, func(context.Context) (string, error) {
				time.Sleep(18 * time.Second) // the process lives until 20 s
				other, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				ctx, event := adapter.WithEvent(other)
				if _, err := idempotent.Do(ctx, inner, key, returns("second run")); !errors.Is(err, idempotent.ErrInProgress) {
					t.Errorf("another invocation got %v, %+v", err, *event)
				}
				return "", nil
			})
		})
	})
}

// An overrun handler with a small Reserve: "tried at least once" is not tried.
func TestTinyReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Lease: 10 * time.Second, Reserve: time.Nanosecond}
		slow := &proxy{Store: store, change: func(ctx context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if isExtend(c) {
				return driver.Record{}, false, errNetwork
			}
			select { // a round trip
			case <-time.After(10 * time.Millisecond):
				return next()
			case <-ctx.Done():
				return driver.Record{}, false, ctx.Err()
			}
		}}
		_, _, err := do(t.Context(), newExecutor(t, slow, config), func(context.Context) (string, error) {
			time.Sleep(11 * time.Second)
			return "done", nil
		})
		if err != nil {
			t.Errorf("the store is well again, the record still ours, and the work is done: %v", err)
		}
	})
}

// What a store answers after a conflict with a transaction is our own record
// with the lease as it was: that is no success.
func TestConflictIsNoHeartbeat(t *testing.T) {
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

// A nested call records its end until the invocation is over, and takes the
// outer call's Reserve.
func TestNestedFinishTakesTheReserve(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		down := &proxy{Store: memory.New(0), change: func(context.Context, driver.Fence, driver.Change, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			return driver.Record{}, false, errNetwork
		}}
		outer := newExecutor(t, store, nil)
		inner, err := idempotent.New("inner", down, nil)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		invocation, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, _, _ = do(invocation, outer, func(ctx context.Context) (string, error) {
			_, _ = idempotent.Do(ctx, inner, idempotent.Key{ID: "k"}, returns("best effort"))
			if since := time.Since(begun); since > 29500*time.Millisecond+50*time.Millisecond {
				t.Errorf("the nested call came back after %v of an invocation of 30 s: no time to record the outer result", since)
			}
			return "charged", nil
		})
	})
}

// In a Lambda function nobody hears that an end was not recorded: the tries go
// on until the process is killed.
func TestFinishOutlivesTheInvocation(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for name, config := range map[string]*idempotent.Config{
		"default": {}, "with a lease": {Lease: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &proxy{Store: memory.New(0), change: func(ctx context.Context, _ driver.Fence, _ driver.Change, _ func() (driver.Record, bool, error)) (driver.Record, bool, error) {
					return driver.Record{}, false, errors.New("AccessDeniedException: dynamodb:UpdateItem")
				}}
				begun := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				_, event, err := do(ctx, newExecutor(t, p, config), func(context.Context) (string, error) {
					time.Sleep(time.Second)
					return "charged", nil
				})
				if since := time.Since(begun); since >= 30*time.Second {
					t.Errorf("answers after %v of an invocation of 30 s: %v, %d calls", since, err, event.RoundTrips)
				}
			})
		})
	}
}
