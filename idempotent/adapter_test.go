package idempotent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/memory"
)

// The deadline that an adapter is told is the one that the handler then has.
func TestHandlerDeadlineIsTheHandlers(t *testing.T) {
	for name, c := range map[string]struct {
		function, disabled string
		config             idempotent.Config
		invocation, want   time.Duration // 0: no deadline
	}{
		"on Lambda":                {function: "f", invocation: 10 * time.Second, want: 9500 * time.Millisecond},
		"a Reserve":                {function: "f", config: idempotent.Config{Reserve: 2 * time.Second}, invocation: 10 * time.Second, want: 8 * time.Second},
		"disabled":                 {function: "f", disabled: "1", invocation: 10 * time.Second, want: 10 * time.Second},
		"on Lambda, no deadline":   {function: "f"},
		"elsewhere":                {invocation: 10 * time.Second, want: 10 * time.Second},
		"elsewhere, no deadline":   {},
		"a lease that is extended": {config: idempotent.Config{Lease: 2 * time.Second}, invocation: 10 * time.Second, want: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_LAMBDA_FUNCTION_NAME", c.function)
			t.Setenv("ONCE_DISABLED", c.disabled)
			synctest.Test(t, func(t *testing.T) {
				x := newExecutor(t, memory.New(0), &c.config)
				ctx, cancel := t.Context(), func() {}
				if c.invocation > 0 {
					ctx, cancel = context.WithTimeout(ctx, c.invocation)
				}
				defer cancel()
				got, ok := x.HandlerDeadline(ctx)
				if ok != (c.want > 0) || ok && time.Until(got) != c.want {
					t.Errorf("got %v, %v; want %v", time.Until(got), ok, c.want)
				}
				_, err := idempotent.Do(ctx, x, theKey, func(ctx context.Context) (int, error) {
					if has, limited := ctx.Deadline(); limited != ok || !has.Equal(got) {
						t.Errorf("the handler has %v, %v; want %v, %v", has, limited, got, ok)
					}
					return 0, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestSealsWithASealerAlone(t *testing.T) {
	if newExecutor(t, memory.New(0), nil).Seals() {
		t.Error("without a Sealer")
	}
	if !newExecutor(t, memory.New(0), &idempotent.Config{Sealer: struct{ idempotent.Sealer }{}}).Seals() {
		t.Error("with a Sealer")
	}
}

func TestFinishedSagaStepsAreCounted(t *testing.T) {
	if n := adapter.FinishedSagaSteps(t.Context()); n != 0 {
		t.Errorf("%d outside of a call", n)
	}
	x := newExecutor(t, memory.New(0), nil)
	tr := &trip{fails: map[string]error{"car": errCrash}}
	for range 2 { // the second attempt is given the steps of the first
		_, _, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
			if n := adapter.FinishedSagaSteps(ctx); n != 0 {
				t.Errorf("%d before the first", n)
			}
			_, err := idempotent.Step(ctx, "cannot be undone", func(context.Context) (int, error) { return 0, nil })
			if err != nil {
				return "", err
			}
			value, err := tr.book(ctx)
			if n := adapter.FinishedSagaSteps(ctx); n != 2 {
				t.Errorf("%d after two, and one that failed", n)
			}
			return value, err
		})
		if !errors.Is(err, errCrash) {
			t.Error(err)
		}
	}
}

// publicError tells its cause to nobody but the caller.
type publicError struct{ cause error }

func (e *publicError) Error() string          { return "declined: " + e.cause.Error() }
func (e *publicError) FailureMessage() string { return "declined" }

func TestFailureMessageIsStoredInPlaceOfTheText(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	fails := failsWith(idempotent.Permanent(&publicError{errCrash}))
	if _, _, err := do(t.Context(), x, fails); err == nil || err.Error() != "declined: "+errCrash.Error() {
		t.Errorf("the first caller got %v", err)
	}
	_, _, err := do(t.Context(), x, fails)
	if replayed, ok := err.(*idempotent.ReplayedError); !ok || replayed.Message != "declined" || replayed.Type != "publicError" {
		t.Errorf("a repetition got %#v", err)
	}
}
