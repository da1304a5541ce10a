package idempotent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

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
	_, event, err := do(t.Context(), newExecutor(t, store, nil), func(ctx context.Context) (string, error) {
		p.Context = context.WithoutCancel(ctx)
		go func() {
			_, err := idempotent.Step(p, "charge", returns("receipt"))
			done <- err
		}()
		<-p.begun
		return "", errCrash
	})
	var failed *idempotent.StoreError
	if !errors.As(err, &failed) || !failed.Executed || event.Outcome != idempotent.OutcomeUnknown {
		t.Errorf("%v, %s", err, event.Outcome)
	}
	close(p.goOn)
	<-done
	if r := stored(t, store); r.Owner == "" {
		t.Errorf("released: %+v", r)
	}
}

// Nobody would undo it.
func TestBypassedCallBeginsNoStepWhileItIsUndone(t *testing.T) {
	err := bypassed(t.Context(), t, newBank(), func(ctx context.Context) (string, error) {
		_, err := idempotent.SagaStep(ctx, "charge", returns("x"), func(inner context.Context, _ string) error {
			if _, err := idempotent.Step(inner, "look", returns("")); err != nil {
				t.Error(err)
			}
			_, err := idempotent.SagaStep(context.WithoutCancel(ctx), "late", mustNotRun(t), func(context.Context, string) error { return nil })
			if !errors.Is(err, idempotent.ErrStep) {
				t.Errorf("%v", err)
			}
			return nil
		})
		return "", errors.Join(err, soldOut())
	})
	if err == nil {
		t.Error("it succeeds")
	}
}
