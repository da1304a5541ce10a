package idempotent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

func TestDoReplaysTheFirstResult(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	value, event, err := do(t.Context(), x, returns("first"))
	if err != nil || value != "first" || event.Outcome != idempotent.OutcomeExecuted || event.Attempt != 1 || event.RoundTrips != 2 {
		t.Fatalf("first: %q, %v, %+v", value, err, event)
	}
	value, event, err = do(t.Context(), x, mustNotRun(t))
	if err != nil || value != "first" || event.Outcome != idempotent.OutcomeReplayed || event.Attempt != 0 || event.RoundTrips != 1 {
		t.Fatalf("second: %q, %v, %+v", value, err, event)
	}
	r := stored(t, store)
	if r.Status != driver.Completed || string(r.Data) != `"first"` || !r.Lease.IsZero() || r.Owner == "" {
		t.Errorf("stored: %+v", r)
	}
	if hash := strings.TrimPrefix(r.ID, "op#"); hash == r.ID || hash != event.KeyHash || len(hash) != 64 {
		t.Errorf("the id %q is not the operation and the hash %q", r.ID, event.KeyHash)
	}
}

func TestDoRefusesAConflict(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	_, _, err := do(t.Context(), x, func(context.Context) (string, error) {
		value, event, err := do(context.Background(), x, mustNotRun(t))
		var running *idempotent.InProgressError
		if !errors.As(err, &running) || !errors.Is(err, idempotent.ErrInProgress) || running.Until.IsZero() || value != "" {
			t.Errorf("got %q, %v", value, err)
		}
		if event.Outcome != idempotent.OutcomeConflict || event.RoundTrips != 1 {
			t.Errorf("event: %+v", event)
		}
		return "", nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestDoRefusesAnotherPayload(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	if _, _, err := do(t.Context(), x, returns("first")); err != nil {
		t.Fatal(err)
	}
	other := theKey
	other.Payload = 2
	ctx, event := adapter.WithEvent(t.Context())
	_, err := idempotent.Do(ctx, x, other, mustNotRun(t))
	if !errors.Is(err, idempotent.ErrKeyReused) || event.Outcome != idempotent.OutcomeMismatch {
		t.Errorf("got %v, %+v", err, event)
	}
	other.Payload = nil
	if value, err := idempotent.Do(t.Context(), x, other, mustNotRun(t)); err != nil || value != "first" {
		t.Errorf("without a payload: %q, %v", value, err)
	}
}

func TestMaxAttempts(t *testing.T) {
	for _, test := range []struct {
		name  string
		max   int
		first []error // of the runs that fail
		runs  bool    // whether one more call runs
	}{
		{"one, an error", 1, []error{errors.New("e")}, false},
		{"one, nothing was done", 1, []error{idempotent.Retryable(errors.New("e"))}, true},
		{"one, nothing was done twice", 1, []error{idempotent.Retryable(errors.New("e")), idempotent.Retryable(errors.New("e"))}, true},
		{"one, nothing was done and an error", 1, []error{idempotent.Retryable(errors.New("e")), errors.New("e")}, false},
		{"two, an error", 2, []error{errors.New("e")}, true},
		{"two, two errors", 2, []error{errors.New("e"), errors.New("e")}, false},
		{"two, one refunded", 2, []error{errors.New("e"), idempotent.Retryable(errors.New("e"))}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, store, &idempotent.Config{MaxAttempts: test.max})
			for i, first := range test.first {
				_, event, err := do(t.Context(), x, failsWith(first))
				if err == nil || errors.Is(err, idempotent.ErrOutcomeUnknown) || event.Attempt != int64(i+1) {
					t.Fatalf("attempt %d: %v, %+v", i+1, err, event)
				}
			}
			if r := stored(t, store); r.Expires.Year() != 9999 {
				t.Errorf("it expires %v, before a person decides", r.Expires)
			}
			value, event, err := do(t.Context(), x, returns("done"))
			if test.runs && (err != nil || value != "done" || event.Attempt != int64(len(test.first)+1)) {
				t.Errorf("got %q, %v, %+v", value, err, event)
			}
			if !test.runs && (!errors.Is(err, idempotent.ErrOutcomeUnknown) || event.Outcome != idempotent.OutcomeUnknown) {
				t.Errorf("got %q, %v, %+v", value, err, event)
			}
		})
	}
}

// unusable is a store that panics when it is used.
type unusable struct{ driver.Store }
