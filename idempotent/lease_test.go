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

// In a Lambda function the lease is the remaining time and the skew, and the
// handler's context ends Reserve before the invocation.
func TestLeaseOfAnInvocation(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{ClockSkew: 2 * time.Second, Reserve: time.Second})
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		_, event, err := do(ctx, x, func(ctx context.Context) (string, error) {
			if lease := stored(t, store).Lease; !lease.Equal(begun.Add(10*time.Minute + 2*time.Second)) {
				t.Errorf("the lease lasts %v", lease.Sub(begun))
			}
			if deadline, ok := ctx.Deadline(); !ok || !deadline.Equal(begun.Add(10*time.Minute-time.Second)) {
				t.Errorf("the handler has until %v", deadline.Sub(begun))
			}
			<-ctx.Done()
			return "in time", nil
		})
		if err != nil || event.RoundTrips != 2 {
			t.Errorf("got %v, %+v", err, event)
		}
		if ran := time.Since(begun); ran != 10*time.Minute-time.Second {
			t.Errorf("it ended after %v", ran)
		}
	})
}

// Lambda ends the process at the deadline, not at one that somebody made.
// Elsewhere nothing ends at a context's deadline, and only a heartbeat tells.
func TestLeaseElsewhereIsNoDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, _, err := do(ctx, newExecutor(t, store, nil), func(context.Context) (string, error) {
			if lease := stored(t, store).Lease; !lease.Equal(begun.Add(time.Minute)) {
				t.Errorf("the lease lasts %v", lease.Sub(begun))
			}
			time.Sleep(5 * time.Minute) // a handler that ignores its context
			if _, _, err := do(t.Context(), newExecutor(t, store, nil), mustNotRun(t)); !errors.Is(err, idempotent.ErrInProgress) {
				t.Errorf("a duplicate gets %v", err)
			}
			return "late", nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A configured lease has its heartbeat in an invocation too, and the handler's
// context ends Reserve before that.
func TestLeaseConfiguredInAnInvocation(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		_, event, err := do(ctx, newExecutor(t, store, &idempotent.Config{Lease: 15 * time.Second}), func(ctx context.Context) (string, error) {
			if lease := stored(t, store).Lease; !lease.Equal(begun.Add(15 * time.Second)) {
				t.Errorf("the first lease lasts %v", lease.Sub(begun))
			}
			<-ctx.Done()
			if lease := stored(t, store).Lease; !lease.Equal(begun.Add(35 * time.Second)) {
				t.Errorf("the last lease ends after %v", lease.Sub(begun))
			}
			if ran := time.Since(begun); ran != 24500*time.Millisecond {
				t.Errorf("the handler ended after %v", ran)
			}
			return "", nil
		})
		// Claim, heartbeats at 5, 10, 15 and 20 s, complete.
		if err != nil || event.RoundTrips != 6 {
			t.Errorf("got %v, %+v", err, event)
		}
	})
}

func TestNothingIsClaimedWithoutTimeToRun(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for _, config := range []*idempotent.Config{nil, {MaxAttempts: 1}, {Wait: time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New(0)
			ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
			defer cancel()
			_, event, err := do(ctx, newExecutor(t, store, config), mustNotRun(t))
			if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, idempotent.ErrStore) || event.Outcome != idempotent.OutcomeFailed {
				t.Errorf("got %v, %+v", err, event)
			}
			if r := stored(t, store); r.Status != driver.Absent || event.RoundTrips != 1 {
				t.Errorf("after %d round trips there is %+v", event.RoundTrips, r)
			}
		})
	}
}

func TestReplayHasTimeWhereARunHasNone(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
		defer cancel()
		if _, event, err := do(t.Context(), x, returns("next")); err != nil || event.Attempt != 1 {
			t.Errorf("the first call gets %v, %+v", err, event)
		}
		if value, _, err := do(ctx, x, mustNotRun(t)); err != nil || value != "next" {
			t.Errorf("a replay gets %q, %v", value, err)
		}
	})
}

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

// Whatever the heartbeat hears, the handler's context ends before the lease.
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

// A handler that goes on after its lease, because the store was away, gets the
// lease back if nobody has taken over.
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

// A heartbeat that meets another owner ends the handler with that cause.
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

// A heartbeat that was repeated below us meets the lease that its first copy
// has set: that is no loss.
func TestHeartbeatMeetsItsOwnCopy(t *testing.T) {
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

// No beat is under way when the record is finished, and none comes after.
func TestHeartbeatIsJoinedBeforeTheEnd(t *testing.T) {
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
			<-ctx.Done() // it hangs
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
