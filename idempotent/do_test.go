package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

func TestDoReplaysTheFirstResult(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	try(t.Context(), t, x, returns("first")).returned("first").ended(idempotent.OutcomeExecuted).attempt(1).roundTrips(2)
	replayed := try(t.Context(), t, x, mustNotRun(t)).returned("first").ended(idempotent.OutcomeReplayed).attempt(0).roundTrips(1)
	r := stored(t, store)
	check.Equal(t, r.Status, driver.Completed)
	check.Equal(t, string(r.Data), `"first"`)
	check.True(t, r.Lease.IsZero())
	check.Differ(t, r.Owner, "")
	check.Equal(t, r.ID, replayed.event.RecordID)
	check.Equal(t, r.ID, "op#"+replayed.event.KeyHash)
	check.Equal(t, len(replayed.event.KeyHash), 64)
}

func TestDoRefusesAConflict(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	try(t.Context(), t, x, func(context.Context) (string, error) {
		r := try(context.Background(), t, x, mustNotRun(t)).with("").is(idempotent.ErrInProgress).ended(idempotent.OutcomeConflict).roundTrips(1)
		running := check.As[*idempotent.InProgressError](t, r.err)
		check.False(t, running.Until.IsZero())
		return "", nil
	}).succeeded()
}

func TestDoRefusesAnotherPayload(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	try(t.Context(), t, x, returns("first")).succeeded()
	tryKey(t.Context(), t, x, otherPayload, mustNotRun(t)).is(idempotent.ErrKeyReused).ended(idempotent.OutcomeMismatch)
	without := idempotent.Key{Scope: theKey.Scope, ID: theKey.ID}
	tryKey(t.Context(), t, x, without, mustNotRun(t)).returned("first")
}

func TestMaxAttempts(t *testing.T) {
	refund := idempotent.Retryable(errors.New("e"))
	for _, test := range []struct {
		name  string
		max   int
		first []error // of the runs that fail
		runs  bool    // whether one more call runs
	}{
		{"one, an error", 1, []error{errors.New("e")}, false},
		{"one, nothing was done", 1, []error{refund}, true},
		{"one, nothing was done twice", 1, []error{refund, refund}, true},
		{"one, nothing was done and an error", 1, []error{refund, errors.New("e")}, false},
		{"two, an error", 2, []error{errors.New("e")}, true},
		{"two, two errors", 2, []error{errors.New("e"), errors.New("e")}, false},
		{"two, one refunded", 2, []error{errors.New("e"), refund}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, store, &idempotent.Config{MaxAttempts: test.max})
			attempt := int64(1)
			for _, first := range test.first {
				r := try(t.Context(), t, x, failsWith(first)).failed().attempt(attempt)
				check.False(t, errors.Is(r.err, idempotent.ErrOutcomeUnknown))
				if attempt == 1 && first == refund {
					check.Equal(t, stored(t, store).Status, driver.Absent, "a refunded first attempt is kept")
					continue
				}
				check.Equal(t, stored(t, store).Expires.Year(), 9999)
				attempt++
			}
			last := try(t.Context(), t, x, returns("done"))
			if test.runs {
				last.returned("done").attempt(attempt)
			} else {
				last.is(idempotent.ErrOutcomeUnknown).ended(idempotent.OutcomeUnknown)
			}
		})
	}
}

// unusable is a store that panics when it is used.
type unusable struct{ driver.Store }

// The handler ends before the stored lease does, and not before the one that
// the lost claim was rebuilt with.
func TestClaimUsesTheStoredLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, hooked(store, func(w write) (driver.Record, bool, error) {
			if isExtend(w) {
				return driver.Record{}, false, errNetwork // no heartbeat arrives
			}
			if isCreate(w) {
				if _, _, err := w.send(); err != nil {
					return driver.Record{}, false, err
				}
				time.Sleep(30 * time.Second)
			}
			return w.send()
		}), &idempotent.Config{Lease: time.Minute})
		begun := time.Now()
		try(t.Context(), t, x, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			check.Equal(t, time.Since(begun), time.Minute-500*time.Millisecond)
			return "", ctx.Err()
		}).is(context.Canceled)
	})
}

// An answer that comes after the lease has lapsed makes nobody an owner: the
// attempt is refunded, and the call claims again.
func TestClaimAnsweredTooLate(t *testing.T) {
	for _, maxAttempts := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, hooked(store, onFirst(isCreate, delayed(2*time.Minute))), &idempotent.Config{Lease: time.Minute, MaxAttempts: maxAttempts})
			try(t.Context(), t, x, func(ctx context.Context) (string, error) {
				recordIs(t, store, "in progress") // without a refund
				check.True(t, stored(t, store).Lease.After(time.Now()))
				return "done", nil
			}).returned("done").attempt(1)
		})
	}
}

func TestClaimOfAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	try(ctx, t, newExecutor(t, unusable{}, nil), mustNotRun(t)).is(context.Canceled).is(idempotent.ErrStore).roundTrips(0)
}

// A call that loses a race claims again, but not for ever.
func TestClaimGivesUpAfterManyLostRaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := hooked(memory.New(0), func(write) (driver.Record, bool, error) { return driver.Record{}, false, nil })
		try(t.Context(), t, newExecutor(t, p, nil), mustNotRun(t)).is(idempotent.ErrInProgress)
		check.True(t, p.tries >= 5, p.tries)
		check.True(t, p.tries <= 20, p.tries)
	})
}

// A context that is cancelled during the claim is reported as cancelled, in an
// error type of this package. Nothing counts as released.
func TestCancelDuringTheClaimIsReported(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := hooked(memory.New(0), on(isCreate, func(w write) (driver.Record, bool, error) {
		defer cancel()
		return w.send()
	}))
	_, event, err := do(ctx, newExecutor(t, p, nil), mustNotRun(t))
	check.Is(t, err, context.Canceled)
	check.False(t, errors.Is(err, context.DeadlineExceeded))
	check.False(t, strings.HasPrefix(fmt.Sprintf("%T", err), "*fmt."), "Do promises one of this package's types or fn's own")
	check.Differ(t, event.Outcome, idempotent.OutcomeReleased, "'released' means that the handler failed or panicked; it did not run")
}
