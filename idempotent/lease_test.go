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
		try(ctx, t, newExecutor(t, store, &idempotent.Config{Lease: 15 * time.Second}), func(ctx context.Context) (string, error) {
			check.Time(t, stored(t, store).Lease, begun.Add(15*time.Second))
			<-ctx.Done()
			check.Time(t, stored(t, store).Lease, begun.Add(35*time.Second))
			check.Equal(t, time.Since(begun), 24500*time.Millisecond)
			return "", nil
		}).succeeded().roundTrips(6) // claim, heartbeats at 5, 10, 15 and 20 s, complete
	})
}

func TestNothingIsClaimedWithoutTimeToRun(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for _, config := range []*idempotent.Config{nil, {MaxAttempts: 1}, {Wait: time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New(0)
			try(during(t, 400*time.Millisecond), t, newExecutor(t, store, config), mustNotRun(t)).is(context.DeadlineExceeded).is(idempotent.ErrStore).ended(idempotent.OutcomeFailed).roundTrips(1)
			check.Equal(t, stored(t, store).Status, driver.Absent)
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

// The end of the handler cuts an extension off. The one before it was well.
func TestExtensionThatTheEndCutsOffHasNotFailed(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		store := hooked(memory.New(0), on(isExtend, slow(2*time.Second)))
		_, event, err := do(during(t, 24*time.Second), newExecutor(t, store, &idempotent.Config{Lease: 30 * time.Second}), func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		check.Is(t, err, idempotent.ErrTimedOut)
		check.False(t, event.ErrorIs(idempotent.ErrStore), event.Err)
	})
}

// meanwhile runs a handler, and others while it runs: as if its process had
// been frozen past its lease.
func meanwhile(t *testing.T, x *idempotent.Executor, end error, others func()) (string, *idempotent.Event, error) {
	t.Helper()
	return do(t.Context(), x, func(context.Context) (string, error) {
		time.Sleep(time.Minute)
		others()
		return "zombie", end
	})
}

// frozen is a store that no heartbeat reaches.
func frozen(store driver.Store) *proxy {
	return hooked(store, fails(isExtend, errNetwork))
}

// The record may have vanished: expired, or released by a successor. The work
// is done, so the record is created anew as completed.
func TestCompleteRecreatesAVanishedRecord(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	try(t.Context(), t, x, func(context.Context) (string, error) {
		check.Nil(t, store.Put(driver.Record{ID: recordID(t, theKey)}))
		return "done", nil
	}).returned("done")
	try(t.Context(), t, x, mustNotRun(t)).returned("done")
	tryKey(t.Context(), t, x, otherPayload, mustNotRun(t)).is(idempotent.ErrKeyReused)
}

// A record that a zombie completes receives the fingerprint of its payload.
func TestAdoptedRecordHasAFingerprint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Lease: 10 * time.Second}
		if _, _, err := meanwhile(t, newExecutor(t, frozen(store), config), nil, func() {
			_ = store.Put(driver.Record{ID: recordID(t, theKey), Status: driver.InProgress, Attempt: 2, Lease: driver.LeaseEnded, Expires: time.Now().Add(time.Hour)})
		}); err != nil {
			t.Fatal(err)
		}
		tryKey(t.Context(), t, newExecutor(t, store, config), otherPayload, mustNotRun(t)).is(idempotent.ErrKeyReused)
	})
}

// A connection that hangs takes a part of the time that is left, and the rest is
// for another try.
func TestHungCompletionIsRepeatedInTheTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		p := hooked(store, onFirst(isChange, hangs))
		try(t.Context(), t, newExecutor(t, p, &idempotent.Config{Lease: 3 * time.Second}), returns("done")).returned("done").ended(idempotent.OutcomeExecuted)
		check.Equal(t, p.tries, 3)
		check.Equal(t, stored(t, store).Status, driver.Completed)
	})
}

// Another process, whose clock is behind, still replays the record.
func TestCutoffOfAWriteAllowsForTheClockSkew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, frozen(store), &idempotent.Config{Lease: 10 * time.Second, ClockSkew: 5 * time.Second})
		value, event, err := meanwhile(t, x, nil, func() {
			check.Nil(t, store.Put(driver.Record{
				ID: recordID(t, theKey), Status: driver.Completed, Owner: "successor", Attempt: 2,
				Data: []byte(`"theirs"`), Expires: time.Now().Add(-4 * time.Second),
			}))
		})
		check.Nil(t, err)
		check.Equal(t, value, "theirs")
		check.Equal(t, event.Outcome, idempotent.OutcomeLeaseLost)
		check.Equal(t, string(stored(t, store).Data), `"theirs"`, "the record of the successor is now")
	})
}

// Retention is stored in seconds, and a part of one counts as a whole one.
func TestRetentionIsNeverCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(900 * time.Millisecond)
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Lease: 2 * time.Second, Retention: time.Second, ClockSkew: time.Second})
		begun := time.Now()
		try(t.Context(), t, x, func(context.Context) (string, error) {
			kept := stored(t, store).Expires.Sub(begun)
			check.True(t, kept >= 4*time.Second, kept)
			check.True(t, kept < 5*time.Second, kept)
			return "done", nil
		}).succeeded()
		kept := stored(t, store).Expires.Sub(begun)
		check.True(t, kept >= 2*time.Second, kept)
		check.True(t, kept < 3*time.Second, kept)
	})
}
