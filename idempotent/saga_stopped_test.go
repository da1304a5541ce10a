package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The result of the step is in memory alone: no other attempt could undo it.
func TestStoppedCallIsUndoneWhateverItsHandlerDoes(t *testing.T) {
	ends := map[string]func(error) error{
		"ignored":       func(error) error { return nil },
		"panics":        func(error) error { panic("stopped") },
		"a typed nil":   func(error) error { return (*typedNil)(nil) },
		"another error": func(error) error { return errCrash },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			store, saga := memory.New(0), &largeSaga{size: 2_000_000}
			p := panicOf(func() {
				_, err := idempotent.Do(t.Context(), newExecutor(t, limited(t, store), nil), theKey, func(ctx context.Context) (string, error) {
					_, err := saga.run(ctx)
					return "", end(err)
				})
				check.Failed(t, err, "it succeeds")
			})
			check.Equal(t, p != nil, name == "panics")
			check.Equal(t, saga.undone, 1)
			check.Equal(t, stored(t, store).Status, driver.Failed)
		})
	}
}

// A panic of the undo function releases such a call like any other.
func TestStoppedCallWhoseUndoPanicsIsReleased(t *testing.T) {
	store := memory.New(0)
	p := panicOf(func() {
		_, _, _ = do(t.Context(), newExecutor(t, limited(t, store), nil), func(ctx context.Context) (string, error) {
			_, err := idempotent.SagaStep(ctx, "charge", returns(strings.Repeat("x", 500_000)), func(context.Context, string) error { panic("undo") })
			panic(err)
		})
	})
	check.True(t, p != nil, "the panic ended")
	recordIs(t, store, "released, steps :failure charge")
}

// A step that runs beside others may find its stored result after the call was
// stopped.
func TestStoppedCallUndoesTheStepsOfEarlierAttempts(t *testing.T) {
	store := memory.New(0)
	hold := charges{refuseAt: -1}
	large := &largeSaga{size: 2_000_000}
	for attempt := range 2 {
		try(t.Context(), t, newExecutor(t, limited(t, store), nil), func(ctx context.Context) (string, error) {
			if attempt == 0 {
				return "", errors.Join(hold.run(ctx, 1, 5), errCrash)
			}
			_, err := large.run(ctx)
			return "", errors.Join(err, hold.run(ctx, 1, 5))
		}).failed()
	}
	check.Equal(t, hold.done, 1)
	check.Equal(t, hold.undone, 1)
	check.Equal(t, large.undone, 1)
	check.Equal(t, stored(t, store).Status, driver.Failed)
}

// paused is a context that lets the handler return where a step looks at it.
type paused struct {
	context.Context
	begun, goOn chan struct{}
}

func (p *paused) Err() error {
	select {
	case <-p.begun:
	default:
		close(p.begun)
	}
	<-p.goOn
	return p.Context.Err()
}

// A release would let the next attempt do the step again.
func TestStepThatIsAboutToRunKeepsTheKey(t *testing.T) {
	store, done := memory.New(0), make(chan error)
	p := &paused{begun: make(chan struct{}), goOn: make(chan struct{})}
	try(t.Context(), t, newExecutor(t, store, nil), func(ctx context.Context) (string, error) {
		p.Context = context.WithoutCancel(ctx)
		go func() {
			_, err := idempotent.Step(p, "charge", returns("receipt"))
			done <- err
		}()
		<-p.begun
		return "", errCrash
	}).ended(idempotent.OutcomeUnknown).executed()
	close(p.goOn)
	<-done
	check.Differ(t, stored(t, store).Owner, "")
}

// Nothing would undo such a step.
func TestBypassedCallBeginsNoStepWhileItIsUndone(t *testing.T) {
	err := bypassed(t.Context(), t, newBank(), func(ctx context.Context) (string, error) {
		_, err := idempotent.SagaStep(ctx, "charge", returns("x"), func(inner context.Context, _ string) error {
			_, err := idempotent.Step(inner, "look", returns(""))
			check.Nil(t, err)
			_, err = idempotent.SagaStep(context.WithoutCancel(ctx), "late", mustNotRun(t), func(context.Context, string) error { return nil })
			check.Is(t, err, idempotent.ErrStep)
			return nil
		})
		return "", errors.Join(err, soldOut())
	})
	check.Failed(t, err, "it succeeds")
}

// No later attempt could undo it: this one can, with the result in memory.
func TestSagaIsUndoneAtOnceWhenAResultCannotBeStored(t *testing.T) {
	undone := 0
	x := newExecutor(t, memory.New(0), nil)
	r := try(t.Context(), t, x, func(ctx context.Context) (string, error) {
		_, err := idempotent.SagaStep(ctx, "charge", func(context.Context) (func(), error) { return func() {}, nil },
			func(_ context.Context, result func()) error {
				undone++
				check.True(t, result != nil, "undone with nothing")
				return nil
			})
		check.Is(t, err, idempotent.ErrResultUnavailable, "the step")
		_, later := idempotent.Step(ctx, "mail", mustNotRun(t))
		check.Is(t, later, idempotent.ErrResultUnavailable, "the next step")
		return "", fmt.Errorf("charge: %w", err)
	}).ended(idempotent.OutcomeFailed)
	check.Equal(t, check.As[*idempotent.ResultUnavailableError](t, r.err).Step, "charge")
	check.Equal(t, undone, 1)
	check.True(t, r.event.Permanent)
	replayed := check.As[*idempotent.ReplayedError](t, try(t.Context(), t, x, mustNotRun(t)).err)
	check.Slice(t, replayed.Compensated, []string{"charge"})
}
