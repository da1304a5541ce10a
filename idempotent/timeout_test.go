package idempotent_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

var errRefusedCard = &declined{"4111"}

// untilItEnds is a handler that charges, and is cut off before it returns.
func untilItEnds(returned func(context.Context) error) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", returned(ctx)
	}
}

// A handler that fails after its deadline may have had its effect, which the
// retry repeats.
func TestHandlerThatIsCutOffTimesOut(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	type handler = func(context.Context) (string, error)
	for name, test := range map[string]struct {
		config  *idempotent.Config
		fn      handler
		outcome idempotent.Outcome
		own     error // what the call returns; nil: a TimedOutError
	}{
		"the context's error": {nil, untilItEnds(context.Context.Err), idempotent.OutcomeTimedOut, nil},
		"the context's cause": {nil, untilItEnds(context.Cause), idempotent.OutcomeTimedOut, nil},
		"wrapped": {nil, untilItEnds(func(ctx context.Context) error {
			return fmt.Errorf("charge: %w", ctx.Err())
		}), idempotent.OutcomeTimedOut, nil},
		"a client's that sees the deadline": {nil, func(ctx context.Context) (string, error) {
			end, _ := ctx.Deadline()
			time.Sleep(time.Until(end))
			return "", errCrash
		}, idempotent.OutcomeTimedOut, errCrash},
		"an error of the handler's": {nil, untilItEnds(func(context.Context) error { return errRefusedCard }), idempotent.OutcomeTimedOut, errRefusedCard},
		"under a heartbeat":         {&idempotent.Config{Lease: 15 * time.Second}, untilItEnds(context.Context.Err), idempotent.OutcomeTimedOut, nil},
		"released though permanent": {&idempotent.Config{ReleasePermanent: true}, untilItEnds(func(context.Context) error {
			return idempotent.Permanent(errRefusedCard)
		}), idempotent.OutcomeTimedOut, errRefusedCard},
		"without a claim": {optimistic, untilItEnds(context.Context.Err), idempotent.OutcomeTimedOut, nil},

		"failed before its end":             {nil, failsWith(context.DeadlineExceeded), idempotent.OutcomeReleased, context.DeadlineExceeded},
		"nothing was done":                  {nil, untilItEnds(func(context.Context) error { return idempotent.Retryable(errRefusedCard) }), idempotent.OutcomeReleased, errRefusedCard},
		"nothing was done, without a claim": {optimistic, untilItEnds(func(ctx context.Context) error { return idempotent.Retryable(ctx.Err()) }), idempotent.OutcomeReleased, context.DeadlineExceeded},
		"failed for good":                   {nil, untilItEnds(func(context.Context) error { return idempotent.Permanent(errRefusedCard) }), idempotent.OutcomeFailed, errRefusedCard},
	} {
		bubble(t, name, func(t *testing.T) {
			store := newBank()
			_, event, err := do(during(t, 20*time.Second), newExecutor(t, store, test.config), test.fn)
			check.Equal(t, event.Outcome, test.outcome)
			if test.own != nil {
				check.Equal(t, err, test.own)
				return
			}
			cut, ok := err.(*idempotent.TimedOutError)
			check.True(t, ok, err)
			check.Equal(t, cut.RecordID, event.RecordID)
			check.Equal(t, cut.Attempt, event.Attempt)
			check.Is(t, err, context.DeadlineExceeded)
			check.Is(t, err, idempotent.ErrTimedOut)
			check.Equal(t, stored(t, store).Status, driver.Absent, "it is not released")
		})
	}
}

func TestHandlerThatPanicsAfterItsTimeTimesOut(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		withEvent, event := adapter.WithEvent(during(t, 20*time.Second))
		panicOf(func() {
			_, _ = idempotent.Do(withEvent, newExecutor(t, memory.New(0), nil), theKey, untilItEnds(func(context.Context) error { panic("boom") }))
		})
		check.Equal(t, event.Outcome, idempotent.OutcomeTimedOut)
	})
}

// A context that the caller cancelled does not mean that the handler was slow.
func TestHandlerWhoseCallerLeavesDoesNotTimeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errCrash) })
		try(cancelled, t, newExecutor(t, memory.New(0), nil), untilItEnds(context.Context.Err)).fails(context.Canceled).ended(idempotent.OutcomeReleased)
		// Outside of a Lambda function, the deadline is the caller's own.
		limited, cancelTimer := context.WithTimeout(t.Context(), time.Second)
		defer cancelTimer()
		try(limited, t, newExecutor(t, memory.New(0), nil), untilItEnds(context.Context.Err)).fails(context.DeadlineExceeded).ended(idempotent.OutcomeReleased)
	})
}

// A call that failed open is bypassed, however it ends.
func TestHandlerThatIsCutOffUnprotectedIsBypassed(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		x := newExecutor(t, claimsFail(newBank()), &idempotent.Config{OnStoreError: idempotent.FailOpen})
		try(during(t, 20*time.Second), t, x, untilItEnds(context.Context.Err)).is(idempotent.ErrTimedOut).ended(idempotent.OutcomeBypassed)
	})
}

// An undo that is cut off is repeated, as a handler is.
func TestUndoThatIsCutOffTimesOut(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		r := try(during(t, 20*time.Second), t, newExecutor(t, memory.New(0), nil), func(ctx context.Context) (string, error) {
			_, err := idempotent.SagaStep(ctx, "charge", returns("charged"), func(ctx context.Context, _ string) error {
				<-ctx.Done()
				return ctx.Err()
			})
			check.Nil(t, err)
			return "", soldOut()
		}).ended(idempotent.OutcomeTimedOut)
		check.As[*idempotent.CompensationError](t, r.err)
	})
}

// The handler sees the cause that the caller receives.
func TestCauseOfAHandlerWhoseTimeEnds(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		var cause error
		_, _, err := do(during(t, 20*time.Second), newExecutor(t, memory.New(0), nil), untilItEnds(func(ctx context.Context) error {
			cause = context.Cause(ctx)
			return cause
		}))
		cut, ok := cause.(*idempotent.TimedOutError)
		check.True(t, ok, cause)
		check.Equal(t, err, cause)
		check.Equal(t, cut.Attempt, 1)
		check.Equal(t, cut.Err, context.DeadlineExceeded)
	})
}

// The deadline that an adapter reads is the one that the handler then has.
func TestHandlerDeadlineIsTheDeadlineOfTheHandler(t *testing.T) {
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
				got, ok := adapter.HandlerDeadline(ctx, x)
				if ok != (c.want > 0) || ok && time.Until(got) != c.want {
					t.Errorf("got %v, %v; want %v", time.Until(got), ok, c.want)
				}
				_, err := idempotent.Do(ctx, x, theKey, func(ctx context.Context) (int, error) {
					has, limited := ctx.Deadline()
					check.Equal(t, limited, ok)
					check.Time(t, has, got)
					return 0, nil
				})
				check.Nil(t, err)
			})
		})
	}
}
