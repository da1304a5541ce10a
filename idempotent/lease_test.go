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

// Lambda stops the process at the deadline. Elsewhere nothing stops at a
// context's deadline, so the lease depends on heartbeats alone.
func TestDeadlineElsewhereIsNoLease(t *testing.T) {
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

// A deadline that is shorter than the invocation's does not cut a configured
// lease.
func TestConfiguredLeaseOutlivesAShorterDeadline(t *testing.T) {
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
