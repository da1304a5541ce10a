package idempotent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
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
		value, event, err := do(context.Background(), x, mustNotRun(t))
		running := check.As[*idempotent.InProgressError](t, err)
		check.Is(t, err, idempotent.ErrInProgress)
		check.False(t, running.Until.IsZero())
		check.Equal(t, value, "")
		check.Equal(t, event.Outcome, idempotent.OutcomeConflict)
		check.Equal(t, event.RoundTrips, 1)
		return "", nil
	}).succeeded()
}

func TestDoRefusesAnotherPayload(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	try(t.Context(), t, x, returns("first")).succeeded()
	ctx, event := adapter.WithEvent(t.Context())
	_, err := idempotent.Do(ctx, x, otherPayload, mustNotRun(t))
	check.Is(t, err, idempotent.ErrKeyReused)
	check.Equal(t, event.Outcome, idempotent.OutcomeMismatch)
	without := idempotent.Key{Scope: theKey.Scope, ID: theKey.ID}
	value, err := idempotent.Do(t.Context(), x, without, mustNotRun(t))
	check.Nil(t, err)
	check.Equal(t, value, "first")
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
