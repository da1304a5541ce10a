package durable_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/proof/durable"
)

var errDeclined = errors.New("declined")

// account counts the charges and refunds of a saga.
type account struct{ charges, refunds atomic.Int64 }

// charge is a step of a saga. The undo function calls undoing first.
func (a *account) charge(ctx context.Context, undoing func(ctx context.Context) error) error {
	_, err := idempotent.SagaStep(ctx, "charge", func(context.Context) (int, error) {
		return int(a.charges.Add(1)), nil
	}, func(ctx context.Context, _ int) error {
		if err := undoing(ctx); err != nil {
			return err
		}
		a.refunds.Add(1)
		return nil
	})
	return err
}

// undone runs the first execution of a sale so often, and requires that it is undone.
// Each run charges and then ends; after that it is declined.
func (w *world) undone(undoing func(context.Context) error, ends func(run int64) (shipped bool), invocations int) {
	w.Helper()
	var a account
	var runs atomic.Int64
	w.deploy(w.charging(named("charge"), func(ctx context.Context) (string, error) {
		run := runs.Add(1)
		if err := a.charge(ctx, undoing); err != nil {
			return "", err
		}
		if ends(run) {
			return "shipped", nil
		}
		return "", idempotent.Permanent(errDeclined)
	}))
	first := w.Start("first", theOrder)
	for range invocations {
		_, _ = first.Once(w.Context())
		time.Sleep(w.hour / 60) // the step is repeated
	}
	w.wantUndone(&a)
}

// thawing returns an undo function that fails so often, and then lets a frozen
// invocation go on to its end.
func thawing(failures int64, thaw chan struct{}) (undoing func(context.Context) error, undos *atomic.Int64) {
	undos = new(atomic.Int64)
	return func(context.Context) error {
		if undos.Add(1) <= failures {
			return errors.New("the bank is away")
		}
		close(thaw)
		synctest.Wait() // the thawed invocation has returned
		return nil
	}, undos
}

// The successor has refunded, so a success of the invocation that it follows
// must not complete the record.
func TestThawedStepDoesNotCompleteWhatItsSuccessorUndoes(t *testing.T) {
	inMemory(t, func(w *world) { successIsLate(w, 0, 2) })
}

// An undo that failed has released the record, and the same execution takes it
// over. A success from before must not complete it.
func TestThawedStepDoesNotCompleteWhatALaterAttemptUndoes(t *testing.T) {
	inMemory(t, func(w *world) { successIsLate(w, 1, 3) })
}

func successIsLate(w *world, failures int64, invocations int) {
	w.Helper()
	thaw := make(chan struct{})
	undoing, _ := thawing(failures, thaw)
	w.undone(undoing, func(run int64) bool {
		if run == 1 {
			<-thaw
		}
		return run == 1
	}, invocations)
}

// The attempt that continues to undo is frozen. Its end releases nothing.
func TestThawedUndoReleasesNothing(t *testing.T) {
	inMemory(t, func(w *world) {
		thaw, frozen := make(chan struct{}), make(chan struct{})
		undoing, undos := thawing(1, thaw)
		w.undone(undoing, func(run int64) bool {
			if run == 2 {
				close(frozen)
				<-thaw
			}
			return false
		}, 5)
		<-frozen
		check.Equal(w, undos.Load(), 2, "undos")
	})
}

// A crash in the middle of an undo does not hold the key.
func TestRepeatedStepContinuesToUndo(t *testing.T) {
	everyStore(t, func(w *world) {
		var undos atomic.Int64
		w.undone(func(ctx context.Context) error {
			if undos.Add(1) == 1 {
				durable.Crash(ctx)
			}
			return nil
		}, func(int64) bool { return false }, 2)
	})
}
