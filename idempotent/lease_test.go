package idempotent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// In a Lambda function the lease is the remaining time and the skew, and the
// handler's context ends Reserve before the invocation.
func TestLeaseOfAnInvocation(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{ClockSkew: 2 * time.Second, Reserve: time.Second})
		begun := time.Now()
		ctx := during(t, 10*time.Minute)
		try(ctx, t, x, func(ctx context.Context) (string, error) {
			check.Time(t, stored(t, store).Lease, begun.Add(10*time.Minute+2*time.Second))
			deadline, ok := ctx.Deadline()
			check.True(t, ok)
			check.Time(t, deadline, begun.Add(10*time.Minute-time.Second))
			<-ctx.Done()
			return "in time", nil
		}).succeeded().roundTrips(2)
		check.Equal(t, time.Since(begun), 10*time.Minute-time.Second)
	})
}

// Lambda stops the process at the deadline. Elsewhere nothing stops at a
// context's deadline, so the lease depends on heartbeats alone.
func TestDeadlineElsewhereIsNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		begun := time.Now()
		try(during(t, 5*time.Second), t, newExecutor(t, store, nil), func(context.Context) (string, error) {
			check.Time(t, stored(t, store).Lease, begun.Add(time.Minute))
			time.Sleep(5 * time.Minute) // a handler that ignores its context
			try(t.Context(), t, newExecutor(t, store, nil), mustNotRun(t)).is(idempotent.ErrInProgress)
			return "late", nil
		}).succeeded()
	})
}

// A configured lease has its heartbeat in an invocation too, and the handler's
// context ends Reserve before that.
func TestLeaseConfiguredInAnInvocation(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		store := memory.New(0)
		begun := time.Now()
		ctx := during(t, 25*time.Second)
		_, event, err := do(ctx, newExecutor(t, store, &idempotent.Config{Lease: 15 * time.Second}), func(ctx context.Context) (string, error) {
			check.Time(t, stored(t, store).Lease, begun.Add(15*time.Second))
			<-ctx.Done()
			check.Time(t, stored(t, store).Lease, begun.Add(35*time.Second))
			check.Equal(t, time.Since(begun), 24500*time.Millisecond)
			return "", nil
		})
		// Claim, heartbeats at 5, 10, 15 and 20 s, complete.
		check.Nil(t, err)
		check.Equal(t, event.RoundTrips, 6)
	})
}

func TestNothingIsClaimedWithoutTimeToRun(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for _, config := range []*idempotent.Config{nil, {MaxAttempts: 1}, {Wait: time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New(0)
			_, event, err := do(during(t, 400*time.Millisecond), newExecutor(t, store, config), mustNotRun(t))
			check.Is(t, err, context.DeadlineExceeded)
			check.Is(t, err, idempotent.ErrStore)
			check.Equal(t, event.Outcome, idempotent.OutcomeFailed)
			check.Equal(t, stored(t, store).Status, driver.Absent)
			check.Equal(t, event.RoundTrips, 1)
		})
	}
}

func TestReplayHasTimeWhereARunHasNone(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, nil)
		try(t.Context(), t, x, returns("next")).succeeded().attempt(1)
		try(during(t, 400*time.Millisecond), t, x, mustNotRun(t)).returned("next")
	})
}

// A deadline that is shorter than the invocation's does not cut a configured
// lease.
func TestConfiguredLeaseOutlivesAShorterDeadline(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Lease: time.Minute}
		invocation, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
		defer cancel()
		short, cancel := context.WithTimeout(invocation, 2*time.Second)
		defer cancel()
		_, _, _ = do(short, newExecutor(t, store, config), func(context.Context) (string, error) {
			time.Sleep(10 * time.Second)
			try(invocation, t, newExecutor(t, store, config), returns("second run")).is(idempotent.ErrInProgress)
			return "", nil
		})
	})
}
