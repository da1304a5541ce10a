package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// notStepping is a store that fails to write steps.
func notStepping(store driver.Store, err error) *proxy {
	return hooked(store, fails(isStep, err))
}

func TestUnacknowledgedStepKeepsTheClaim(t *testing.T) {
	for name, end := range map[string]func(error) error{
		"returned":     func(err error) error { return err },
		"swallowed":    func(error) error { return errCrash },
		"called again": func(err error) error { return idempotent.Retryable(err) },
		"of a saga":    func(err error) error { return idempotent.Permanent(errors.Join(&soldOutError{}, err)) },
		"a panic":      func(err error) error { panic(err) },
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, notStepping(store, errNetwork), nil)
			ctx, cancel := context.WithCancel(t.Context())
			work := func(context.Context) (string, error) { cancel(); return "", nil }
			p := panicOf(func() {
				r := try(ctx, t, x, func(ctx context.Context) (_ string, err error) {
					if name == "of a saga" {
						_, err = idempotent.SagaStep(ctx, "charge", work, func(context.Context, string) error { return nil })
					} else {
						_, err = idempotent.Step(ctx, "charge", work)
					}
					return "", end(err)
				}).ended(idempotent.OutcomeUnknown)
				check.Equal(t, r.executed().Op, "step")
				check.Equal(t, errors.As(r.err, new(*soldOutError)), name == "of a saga")
			})
			_, ok := p.(*idempotent.StoreError)
			check.Equal(t, ok, name == "a panic", "whose panic goes on")
			recordIs(t, store, "in progress")
		})
	}
}

// The record has no room even for the marker. The step is done, so its key is
// not released.
func TestStepWithoutRoomKeepsTheClaim(t *testing.T) {
	x := newExecutor(t, notStepping(memory.New(0), fmt.Errorf("full: %w", driver.ErrTooLarge)), nil)
	charges := 0
	for _, want := range []error{idempotent.ErrStore, idempotent.ErrInProgress} {
		try(t.Context(), t, x, func(ctx context.Context) (string, error) {
			return idempotent.Step(ctx, "charge", func(context.Context) (string, error) { charges++; return "charged", nil })
		}).is(want)
	}
	check.Equal(t, charges, 1)
}

// Heartbeats that succeed do not keep a call alive whose step the store
// refuses.
func TestStepThatTheStoreRefusesEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := hooked(memory.New(0), fails(isStep, errors.New("access denied")))
		began := time.Now()
		_, _, err := do(t.Context(), newExecutor(t, p, nil), func(ctx context.Context) (string, error) {
			return idempotent.Step(ctx, "charge", returns("x"))
		})
		failed := check.As[*idempotent.StoreError](t, err)
		check.True(t, failed.Executed)
		check.True(t, time.Since(began) <= time.Minute, time.Since(began))
	})
}

func TestStepOfALostLease(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	try(t.Context(), t, x, func(ctx context.Context) (string, error) {
		takeOver(t, store)
		_, err := idempotent.Step(ctx, "charge", returns("done"))
		check.Is(t, err, idempotent.ErrLeaseLost)
		check.Is(t, context.Cause(ctx), idempotent.ErrLeaseLost)
		return "", err
	}).is(idempotent.ErrLeaseLost).ended(idempotent.OutcomeLeaseLost)
	recordIs(t, store, "in progress by other, attempt 2")
}

// The context of a step's work often ends with it.
func TestStepIsStoredAfterItsOwnContextHasEnded(t *testing.T) {
	store := memory.New(0)
	p := hooked(store, onFirst(isStep, notSent(errNetwork)))
	try(t.Context(), t, newExecutor(t, p, nil), func(ctx context.Context) (string, error) {
		own, cancel := context.WithCancel(ctx)
		return idempotent.Step(own, "charge", func(context.Context) (string, error) { cancel(); return "charged", nil })
	}).returned("charged").ended(idempotent.OutcomeExecuted)
	check.Equal(t, p.tries, 4)
}

// A step that is answered while the heartbeat is joined was sent by this run. So
// the completion adopts the record of a successor that was released with it.
func TestStepAnsweredWhileTheHeartbeatIsJoinedIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, hooked(store, on(isChange, func(w write) (driver.Record, bool, error) {
			switch {
			case isExtend(w):
				defer time.Sleep(2 * time.Second)
				return hangs(w)
			case isStep(w):
				return delayed(2 * time.Second)(w)
			case w.change.Status == driver.Completed && w.change.Owner == "":
				r := stored(t, store)
				r.Owner, r.Attempt, r.Lease = "", 2, driver.LeaseEnded
				check.Nil(t, store.Put(r))
			}
			return w.send()
		})), &idempotent.Config{Lease: 30 * time.Second})
		try(t.Context(), t, x, func(ctx context.Context) (string, error) {
			time.Sleep(10 * time.Second) // to the first heartbeat
			go func() {
				_, err := idempotent.Step(ctx, "late", returns(""))
				check.Nil(t, err)
			}()
			time.Sleep(time.Second)
			return "done", nil
		}).returned("done")
		check.Equal(t, stored(t, store).Status, driver.Completed)
	})
}
