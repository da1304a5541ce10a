package idempotent_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

func TestTakeoverAfterTheSkew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Lease: 10 * time.Second})
		crash(t, store)
		first := stored(t, store)
		for _, end := range []time.Duration{-time.Second, 0, time.Second} {
			time.Sleep(time.Until(first.Lease.Add(end)))
			try(t.Context(), t, x, mustNotRun(t)).is(idempotent.ErrInProgress)
		}
		time.Sleep(time.Millisecond)
		try(t.Context(), t, x, func(ctx context.Context) (string, error) {
			claim, ok := idempotent.FromContext(ctx)
			check.True(t, ok)
			check.Equal(t, claim.Attempt, 2)
			check.True(t, claim.Takeover())
			check.Equal(t, claim.Operation, "op")
			r := stored(t, store)
			check.Differ(t, r.Owner, first.Owner)
			check.False(t, r.Expires.Before(first.Expires))
			check.Equal(t, r.Fingerprint, first.Fingerprint)
			return "second", nil
		}).returned("second").ended(idempotent.OutcomeTakeover).attempt(2).roundTrips(3)
	})
}

// crash leaves a record as a process does that dies while its handler runs.
func crash(t *testing.T, store driver.Store) {
	t.Helper()
	dying := hooked(store, fails(isChange, errors.New("the process is dead")))
	x := newExecutor(t, dying, &idempotent.Config{Lease: 10 * time.Second, Reserve: time.Millisecond})
	try(t.Context(), t, x, failsWith(errors.New("killed"))).failed()
}

// Retention never moves back. A successor with a short lease does not shorten
// the retention of a long first attempt.
func TestTakeoverKeepsTheLongerRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		id := recordID(t, theKey)
		far := time.Now().Add(1000 * time.Hour)
		check.Must(t, store.Put(driver.Record{ID: id, Status: driver.InProgress, Owner: "a", Attempt: 1, Lease: time.Now().Add(-time.Hour), Expires: far}))
		try(t.Context(), t, newExecutor(t, store, nil), func(context.Context) (string, error) {
			check.Time(t, stored(t, store).Expires, far)
			return "", nil
		}).succeeded()
	})
}

// A record in progress outlives its lease by the retention and the skew.
func TestExpirationInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Lease: time.Minute, Retention: time.Hour, ClockSkew: 3 * time.Second})
		begun := time.Now()
		try(t.Context(), t, x, func(context.Context) (string, error) {
			check.Time(t, stored(t, store).Expires, begun.Add(time.Minute+time.Hour+3*time.Second))
			return "", nil
		}).succeeded()
		check.Time(t, stored(t, store).Expires, begun.Add(time.Hour+3*time.Second))
		time.Sleep(time.Hour + 4*time.Second)
		try(t.Context(), t, x, mustNotRun(t)).returned("")
		time.Sleep(3 * time.Second)
		try(t.Context(), t, x, returns("again")).returned("again")
	})
}

// A retention that overflows together with the skew keeps a record, or is
// refused.
func TestRetentionThatOverflowsIsForEver(t *testing.T) {
	x, err := idempotent.New("op", memory.New(0), &idempotent.Config{Retention: math.MaxInt64})
	if err != nil {
		return // refusing it would do as well
	}
	runs := 0
	for range 2 {
		try(t.Context(), t, x, func(context.Context) (string, error) { runs++; return "done", nil }).succeeded()
	}
	check.Equal(t, runs, 1)
}

// The claim whose answer came too late has ended the lapsed lease. The next one,
// which runs, meets a released record: the crash must be reported all the same.
func TestTakeoverWhoseFirstAnswerCameTooLateIsLapsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := abandoned(t)
		p := hooked(store, onFirst(isTakeover, delayed(time.Minute))) // the whole lease
		r := try(t.Context(), t, newExecutor(t, p, &idempotent.Config{Lease: 10 * time.Second}), returns("")).succeeded().ended(idempotent.OutcomeTakeover).attempt(3)
		check.True(t, r.event.Lapsed)
		recordIs(t, store, "completed, attempt 3, refunds 1")
	})
}

// A takeover that another call won is not reported as one.
func TestReplayAfterALostTakeoverIsNotLapsed(t *testing.T) {
	store := abandoned(t)
	p := hooked(store, onFirst(isChange, func(w write) (driver.Record, bool, error) {
		try(context.Background(), t, newExecutor(t, store, &idempotent.Config{Observer: idempotent.NoObserver{}}), returns("theirs")).succeeded()
		return w.send()
	}))
	r := try(t.Context(), t, newExecutor(t, p, nil), mustNotRun(t)).returned("theirs").ended(idempotent.OutcomeReplayed)
	check.False(t, r.event.Lapsed)
}

// Nothing was done before, so that no alarm for takeovers must ring.
func TestRunAfterRefundedAttemptsIsNoTakeover(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, &idempotent.Config{MaxAttempts: 2})
	for range 2 {
		try(t.Context(), t, x, func(ctx context.Context) (string, error) {
			_, err := idempotent.Step(ctx, "quote", returns("5 EUR")) // for which the record stays
			return "", errors.Join(err, idempotent.Retryable(errors.New("the bank is closed")))
		}).failed()
	}
	try(t.Context(), t, x, func(ctx context.Context) (string, error) {
		claim, _ := idempotent.FromContext(ctx)
		check.False(t, claim.Takeover(), "the handler is told of an attempt that did nothing")
		return "done", nil
	}).succeeded().ended(idempotent.OutcomeExecuted)
	recordIs(t, store, "completed, attempt 3, refunds 2")
}

// Each call until the lease is taken would count the same crash.
func TestRefusedTakeoverIsNotLapsed(t *testing.T) {
	for _, refusal := range []error{driver.ErrDenied, driver.ErrThrottled, driver.ErrNotWritten} {
		store := abandoned(t)
		x := newExecutor(t, hooked(store, fails(isChange, refusal)), nil)
		_, event, err := do(t.Context(), x, mustNotRun(t))
		check.Is(t, err, refusal)
		check.False(t, event.Lapsed, refusal)
	}
}
