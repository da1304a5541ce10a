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

// How a record is held and who owns it are independent: each test combines two
// variants.

// After its invocation, a step of an execution writes nothing: the next invocation
// may run under the same fence. A claim that may be stored is no exception.
func TestExecutionStepThatFailsOpenIsLeftAfterItsInvocation(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		store := claimsFail(memory.New(0))
		invocation, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		step := adapter.Execution{ID: []string{"arn", "step"}, Until: time.Now().Add(time.Hour)}
		ctx := adapter.With(invocation, adapter.Settings{Execution: &step})
		x := newExecutor(t, store, &idempotent.Config{OnStoreError: idempotent.FailOpen})
		_, event, err := do(ctx, x, func(context.Context) (string, error) {
			<-invocation.Done()
			return "", errCrash
		})
		if !errors.Is(err, errCrash) {
			t.Errorf("got %v", err)
		}
		if event.Outcome != idempotent.OutcomeSuspended {
			t.Errorf("outcome %q", event.Outcome)
		}
	})
}

// So is an optimistic call, which has no claim.
func TestOptimisticExecutionStepIsLeftAfterItsInvocation(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		invocation, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		step := adapter.Execution{ID: []string{"arn", "step"}, Until: time.Now().Add(time.Hour)}
		ctx := adapter.With(invocation, adapter.Settings{Execution: &step})
		_, event, err := do(ctx, newExecutor(t, newBank(), optimistic), func(context.Context) (string, error) {
			<-invocation.Done()
			return "", errCrash
		})
		if !errors.Is(err, errCrash) {
			t.Errorf("got %v", err)
		}
		if event.Outcome != idempotent.OutcomeSuspended {
			t.Errorf("outcome %q", event.Outcome)
		}
	})
}

// Nothing would record the effect of the step, whether or not the run has a claim.
func TestFinishedExecutionThatRunsAgainHasNoSteps(t *testing.T) {
	unencodable := func(context.Context) (chan int, error) { return make(chan int), nil }
	x := newExecutor(t, memory.New(0), nil)
	execution := adapter.Execution{ID: []string{"arn"}, Until: time.Now().Add(time.Hour), Settle: func(error) idempotent.Outcome { return idempotent.OutcomeExecuted }}
	ctx := adapter.With(t.Context(), adapter.Settings{Execution: &execution})
	if _, err := idempotent.Do(ctx, x, theKey, unencodable); err != nil {
		t.Fatal(err)
	}
	ran := false
	_, err := idempotent.Do(ctx, x, theKey, func(ctx context.Context) (chan int, error) {
		_, err := idempotent.Step(ctx, "charge", func(context.Context) (int, error) { ran = true; return 1, nil })
		return nil, err
	})
	if ran {
		t.Error("the step ran")
	}
	if _, ok := err.(*idempotent.StepError); !ok {
		t.Errorf("got %v", err)
	}
}

// A call that failed before its first effect has not timed out, also where no
// record is released.
func TestOptimisticRetryableAtItsDeadlineIsReleased(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		invocation, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, event, err := do(invocation, newExecutor(t, newBank(), optimistic), untilItEnds(func(ctx context.Context) error { return idempotent.Retryable(ctx.Err()) }))
		if err != context.DeadlineExceeded {
			t.Errorf("got %T: %v", err, err)
		}
		if event.Outcome != idempotent.OutcomeReleased {
			t.Errorf("outcome %q", event.Outcome)
		}
	})
}

// Event.Store is the time of the store alone.
func TestCommitWithoutARecordDoesNotCountTheHandler(t *testing.T) {
	t.Setenv("ONCE_DISABLED", "true")
	synctest.Test(t, func(t *testing.T) {
		_, event, err := do(t.Context(), newExecutor(t, newBank(), nil), func(ctx context.Context) (string, error) {
			time.Sleep(3 * time.Second)
			return books("x", nil)(ctx)
		})
		if err != nil {
			t.Error(err)
		}
		if event.Store != 0 {
			t.Errorf("the store took %v", event.Store)
		}
		if event.RoundTrips != 1 {
			t.Errorf("%d round trips", event.RoundTrips)
		}
	})
}
