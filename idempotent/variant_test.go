package idempotent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// How a record is held and who holds it are independent: each test combines two
// variants.

// After its invocation, a step of an execution writes nothing: the next invocation
// may run under the same fence, also that of a call without a claim. A reason for which its steps must be undone is not that its
// time has ended.
func TestExecutionStepIsLeftAfterItsInvocation(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for name, test := range map[string]struct {
		store  driver.Store
		config *idempotent.Config
		fn     func(context.Context) (string, error)
	}{
		"optimistic": {newBank(), optimistic, failsWith(errCrash)},
		"stopped": {memory.New(0), nil, func(ctx context.Context) (string, error) {
			unencodable := func(context.Context) (any, error) { return make(chan int), nil }
			_, stopped := idempotent.SagaStep(ctx, "charge", unencodable, func(context.Context, any) error { return nil })
			return "", stopped
		}},
	} {
		bubble(t, name, func(t *testing.T) {
			invocation := during(t, 20*time.Second)
			step := adapter.Execution{ID: []string{"arn", "step"}, Until: time.Now().Add(time.Hour)}
			var own error
			r := try(adapter.With(invocation, adapter.Durable(step)), t, newExecutor(t, test.store, test.config), func(ctx context.Context) (string, error) {
				_, err := test.fn(ctx)
				<-invocation.Done()
				if own = err; name == "stopped" {
					own = errors.Join(err, ctx.Err())
				}
				return "", own
			}).ended(idempotent.OutcomeSuspended)
			check.Equal(t, r.err, own)
		})
	}
}

// Its token is that of its earlier invocations, so a run without the stored steps would
// pass the fence: it would repeat a charge, and complete a saga that is half undone.
func TestExecutionStepNeverFailsOpen(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for name, lost := range map[string]func(write) bool{"claim": isCreate, "extend": isExtend} {
		bubble(t, name, func(t *testing.T) {
			store, step := memory.New(0), adapter.Execution{ID: []string{"arn", "step"}, Until: time.Now().Add(30 * time.Second)}
			runs := func(store driver.Store, fn func(context.Context) (string, error)) result {
				x := newExecutor(t, store, &idempotent.Config{OnStoreError: idempotent.FailOpen})
				return try(adapter.With(during(t, 20*time.Second), adapter.Durable(step)), t, x, fn)
			}
			runs(store, func(ctx context.Context) (string, error) {
				_, err := idempotent.SagaStep(ctx, "charge", func(context.Context) (int, error) { return 1, nil }, func(context.Context, int) error { return nil })
				check.Must(t, err)
				<-ctx.Done()
				time.Sleep(time.Second) // of the bubble: past the invocation, as a process that dies
				return "", errCrash
			})
			before := stored(t, store)
			check.Equal(t, len(before.Steps), 1)
			r := runs(hooked(store, fails(lost, errNetwork)), returns("ran"))
			failed, ok := errors.AsType[*idempotent.StoreError](r.err)
			check.True(t, ok && failed.Op == name, r.err)
			check.Deep(t, stored(t, store), before)
		})
	}
}

// Nothing would record the effect of the step, whether or not the run has a claim.
func TestFinishedExecutionThatRunsAgainHasNoSteps(t *testing.T) {
	unencodable := func(context.Context) (any, error) { return make(chan int), nil }
	x := newExecutor(t, memory.New(0), nil)
	execution := adapter.Execution{ID: []string{"arn"}, Until: time.Now().Add(time.Hour), Decide: func(error) idempotent.Outcome { return idempotent.OutcomeExecuted }}
	ctx := adapter.With(t.Context(), adapter.Durable(execution))
	_, err := idempotent.Do(ctx, x, theKey, unencodable)
	check.Must(t, err)
	ran := false
	_, err = idempotent.Do(ctx, x, theKey, func(ctx context.Context) (any, error) {
		_, err := idempotent.Step(ctx, "charge", func(context.Context) (int, error) { ran = true; return 1, nil })
		return nil, err
	})
	check.False(t, ran, "the step ran")
	_, ok := err.(*idempotent.StepError)
	check.True(t, ok)
}

// Event.Store is the time of the store alone, and Event.Handler that of the handler.
func TestCommitWithoutARecordIsTheTimeOfTheStore(t *testing.T) {
	t.Setenv("ONCE_DISABLED", "true")
	synctest.Test(t, func(t *testing.T) {
		store := newBank()
		store.before = func(*entry) error { time.Sleep(2 * time.Second); return nil }
		r := try(t.Context(), t, newExecutor(t, store, nil), func(ctx context.Context) (string, error) {
			time.Sleep(3 * time.Second)
			return books("x", nil)(ctx)
		}).succeeded().roundTrips(1)
		check.Equal(t, r.event.Store, 2*time.Second)
		check.Equal(t, r.event.Handler, 3*time.Second)
	})
}

// The context of a cancelled step says nothing about the clock: the invocation has time,
// and the next one may run under the same claim all the same.
func TestCancelledExecutionStepLeavesItsClaim(t *testing.T) {
	store := memory.New(0)
	step := adapter.Execution{ID: []string{"arn", "step"}, Until: time.Now().Add(time.Hour)}
	ctx, cancel := context.WithCancel(adapter.With(t.Context(), adapter.Durable(step)))
	defer cancel()
	r := try(ctx, t, newExecutor(t, store, nil), func(context.Context) (string, error) {
		cancel()
		return "", idempotent.Permanent(errCrash)
	}).fails(errCrash).ended(idempotent.OutcomeSuspended)
	recordIs(t, store, "in progress")
	check.False(t, r.event.Permanent, "the next invocation repeats the step")
}
