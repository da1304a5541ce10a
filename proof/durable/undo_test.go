package durable_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/proof/durable"
)

var errDeclined = errors.New("declined")

// account counts what a saga does and undoes.
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

// The successor has refunded, so a success of the invocation that it follows
// must not complete the record.
func TestThawedStepDoesNotCompleteWhatItsSuccessorUndoes(t *testing.T) {
	inMemory(t, func(w *world) {
		var a account
		var runs atomic.Int64
		thaw := make(chan struct{})
		undoing := func(context.Context) error {
			close(thaw)
			synctest.Wait() // the thawed invocation has returned
			return nil
		}
		w.deploy(w.charging(named("charge"), func(ctx context.Context) (string, error) {
			run := runs.Add(1)
			if err := a.charge(ctx, undoing); err != nil {
				return "", err
			}
			if run == 1 {
				<-thaw
				return "shipped", nil
			}
			return "", idempotent.Permanent(errDeclined)
		}))
		first := w.Start("first", theOrder)
		for range 2 {
			_, _ = first.Once(w.Context())
		}
		if r := w.record("charge", cardKey); r.Status != driver.Failed || a.charges.Load() != 1 || a.refunds.Load() != 1 {
			w.Errorf("%d charges, %d refunds, and the record is %s: %s", a.charges.Load(), a.refunds.Load(), r.Status, r.Data)
		}
	})
}

// An undo that failed has released the record, and the same execution takes it
// over. A success from before must not complete it.
func TestThawedStepDoesNotCompleteWhatALaterAttemptUndoes(t *testing.T) {
	inMemory(t, func(w *world) {
		var a account
		var runs, undos atomic.Int64
		thaw := make(chan struct{})
		undoing := func(context.Context) error {
			if undos.Add(1) == 1 {
				return errors.New("the bank is away")
			}
			close(thaw)
			synctest.Wait()
			return nil
		}
		w.deploy(w.charging(named("charge"), func(ctx context.Context) (string, error) {
			run := runs.Add(1)
			if err := a.charge(ctx, undoing); err != nil {
				return "", err
			}
			if run == 1 {
				<-thaw
				return "shipped", nil
			}
			return "", idempotent.Permanent(errDeclined)
		}))
		first := w.Start("first", theOrder)
		for range 3 {
			_, _ = first.Once(w.Context())
			time.Sleep(time.Minute) // the step is repeated
		}
		if r := w.record("charge", cardKey); r.Status != driver.Failed || a.charges.Load() != 1 || a.refunds.Load() != 1 {
			w.Errorf("%d charges, %d refunds, and the record is %s: %s", a.charges.Load(), a.refunds.Load(), r.Status, r.Data)
		}
	})
}

// The attempt that continues to undo is frozen. Its end releases nothing.
func TestThawedUndoReleasesNothing(t *testing.T) {
	inMemory(t, func(w *world) {
		var a account
		var runs, undos atomic.Int64
		thaw, frozen := make(chan struct{}), make(chan struct{})
		undoing := func(context.Context) error {
			if undos.Add(1) == 1 {
				return errors.New("the bank is away")
			}
			close(thaw)
			synctest.Wait()
			return nil
		}
		w.deploy(w.charging(named("charge"), func(ctx context.Context) (string, error) {
			run := runs.Add(1)
			if err := a.charge(ctx, undoing); err != nil {
				return "", err
			}
			if run == 2 {
				close(frozen)
				<-thaw
			}
			return "", idempotent.Permanent(errDeclined)
		}))
		first := w.Start("first", theOrder)
		for range 5 {
			_, _ = first.Once(w.Context())
			time.Sleep(time.Minute)
		}
		<-frozen
		if r := w.record("charge", cardKey); r.Status != driver.Failed || a.charges.Load() != 1 || a.refunds.Load() != 1 || undos.Load() != 2 {
			w.Errorf("%d charges, %d refunds in %d undos, and the record is %s: %s", a.charges.Load(), a.refunds.Load(), undos.Load(), r.Status, r.Data)
		}
	})
}

// A crash in the middle of an undo does not hold the key.
func TestRepeatedStepContinuesToUndo(t *testing.T) {
	everyStore(t, func(w *world) {
		var a account
		var undos atomic.Int64
		undoing := func(ctx context.Context) error {
			if undos.Add(1) == 1 {
				durable.Crash(ctx)
			}
			return nil
		}
		w.deploy(w.charging(named("charge"), func(ctx context.Context) (string, error) {
			if err := a.charge(ctx, undoing); err != nil {
				return "", err
			}
			return "", idempotent.Permanent(errDeclined)
		}))
		first := w.Start("first", theOrder)
		for range 2 {
			_, _ = first.Once(w.Context())
		}
		if r := w.record("charge", cardKey); r.Status != driver.Failed || a.charges.Load() != 1 || a.refunds.Load() != 1 {
			w.Errorf("%d charges, %d refunds, and the record is %s: %s", a.charges.Load(), a.refunds.Load(), r.Status, r.Data)
		}
	})
}
