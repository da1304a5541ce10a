package idempotent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// The result of the step is in memory alone: no other attempt could undo it.
func TestStoppedCallIsUndoneWhateverItsHandlerDoes(t *testing.T) {
	ends := map[string]func(error) error{
		"passes over":   func(error) error { return nil },
		"panics":        func(error) error { panic("stopped") },
		"a typed nil":   func(error) error { return (*badError)(nil) },
		"another error": func(error) error { return errCrash },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			store, saga := memory.New(0), &largeSaga{size: 2_000_000}
			func() {
				defer func() {
					if p := recover(); (p != nil) != (name == "panics") {
						t.Errorf("panic: %v", p)
					}
				}()
				_, err := idempotent.Do(t.Context(), newExecutor(t, limited(t, store), nil), theKey, func(ctx context.Context) (string, error) {
					_, err := saga.run(ctx)
					return "", end(err)
				})
				if err == nil {
					t.Error("it succeeds")
				}
			}()
			if r := stored(t, store); saga.undone != 1 || r.Status != driver.Failed {
				t.Errorf("undone %d times, %s", saga.undone, r.Status)
			}
		})
	}
}

// A panic of what undoes such a call releases it as any other.
func TestStoppedCallWhoseUndoPanicsIsReleased(t *testing.T) {
	store := memory.New(0)
	defer func() {
		if recover() == nil {
			t.Error("the panic ended")
		}
		if r := stored(t, store); r.Status != driver.InProgress || r.Owner != "" {
			t.Errorf("%s, owned by %q", r.Status, r.Owner)
		}
	}()
	_, _ = idempotent.Do(t.Context(), newExecutor(t, limited(t, store), nil), theKey, func(ctx context.Context) (string, error) {
		_, err := idempotent.SagaStep(ctx, "charge", returns(strings.Repeat("x", 500_000)), func(context.Context, string) error { panic("undo") })
		panic(err)
	})
}

// badError has methods that panic for nil.
type badError struct{ err error }

func (e *badError) Error() string { return e.err.Error() }
func (e *badError) Unwrap() error { return e.err }

// Steps that run at once may come to their stored results after the stop.
func TestStoppedCallUndoesTheStepsOfEarlierAttempts(t *testing.T) {
	store := memory.New(0)
	hold := charges{refuseAt: -1}
	large := &largeSaga{size: 2_000_000}
	for attempt := range 2 {
		_, _, err := do(t.Context(), newExecutor(t, limited(t, store), nil), func(ctx context.Context) (string, error) {
			if attempt == 0 {
				return "", errors.Join(hold.run(ctx, 1, 5), errCrash)
			}
			_, err := large.run(ctx)
			return "", errors.Join(err, hold.run(ctx, 1, 5))
		})
		if err == nil {
			t.Error("it succeeds")
		}
	}
	if r := stored(t, store); hold.done != 1 || hold.undone != 1 || large.undone != 1 || r.Status != driver.Failed {
		t.Errorf("undone %d and %d times, %s", hold.undone, large.undone, r.Status)
	}
}
