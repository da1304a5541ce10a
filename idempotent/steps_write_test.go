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
)

// notStepping is a store that fails to write steps.
func notStepping(store driver.Store, err error) *proxy {
	return &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if len(c.Steps) > 0 {
			return driver.Record{}, false, err
		}
		return next()
	}}
}

func TestUnacknowledgedStepKeepsTheClaim(t *testing.T) {
	for name, end := range map[string]func(error) error{
		"returned":     func(err error) error { return err },
		"swallowed":    func(error) error { return errCrash },
		"called again": func(err error) error { return idempotent.Retryable(err) },
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
				if len(c.Steps) > 0 {
					return driver.Record{}, false, errNetwork
				}
				return next()
			}}, nil)
			ctx, cancel := context.WithCancel(t.Context())
			_, event, err := do(ctx, x, func(ctx context.Context) (string, error) {
				_, err := idempotent.Step(ctx, "charge", func(context.Context) (string, error) {
					cancel()
					return "", nil
				})
				return "", end(err)
			})
			var failed *idempotent.StoreError
			if !errors.As(err, &failed) || !failed.Executed || failed.Op != "step" || event.Outcome != idempotent.OutcomeUnknown {
				t.Errorf("%v, %+v", err, event)
			}
			if r := stored(t, store); r.Status != driver.InProgress || r.Owner == "" {
				t.Errorf("released: %+v", r)
			}
		})
	}
}

func isStoreError(p any) bool { _, ok := p.(*idempotent.StoreError); return ok }

func TestUnacknowledgedStepKeepsTheClaimOfAPanic(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if len(c.Steps) > 0 {
			return driver.Record{}, false, errNetwork
		}
		return next()
	}}, nil)
	defer func() {
		if p := recover(); !isStoreError(p) {
			t.Errorf("it is not the handler's panic that goes on: %v", p)
		}
		if r := stored(t, store); r.Owner == "" {
			t.Errorf("released: %+v", r)
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	do(ctx, x, func(ctx context.Context) (string, error) {
		_, err := idempotent.Step(ctx, "charge", func(context.Context) (string, error) { cancel(); return "", nil })
		panic(err)
	})
}

// The step was done, and may be recorded or not.
func TestUnacknowledgedSagaStepKeepsTheClaim(t *testing.T) {
	store := memory.New(0)
	ctx, cancel := context.WithCancel(t.Context())
	_, event, err := do(ctx, newExecutor(t, notStepping(store, errNetwork), nil), func(ctx context.Context) (string, error) {
		_, err := idempotent.SagaStep(ctx, "charge", func(context.Context) (string, error) { cancel(); return "x", nil },
			func(context.Context, string) error { return nil })
		return "", idempotent.Permanent(errors.Join(&soldOutError{}, err))
	})
	var unacknowledged *idempotent.StoreError
	var cause *soldOutError
	if !errors.As(err, &unacknowledged) || !unacknowledged.Executed || !errors.As(err, &cause) || event.Outcome != idempotent.OutcomeUnknown {
		t.Errorf("%v, %v", err, event.Outcome)
	}
	if r := stored(t, store); r.Status != driver.InProgress || r.Owner == "" {
		t.Errorf("not kept: %+v", r)
	}
}

// The record has no room even for the marker. The step is done, so its key is
// not released.
func TestStepWithoutRoomKeepsTheClaim(t *testing.T) {
	x := newExecutor(t, notStepping(memory.New(0), fmt.Errorf("full: %w", driver.ErrTooLarge)), nil)
	charges := 0
	for i, want := range []error{idempotent.ErrStore, idempotent.ErrInProgress} {
		_, _, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
			return idempotent.Step(ctx, "charge", charge(&charges, nil))
		})
		if !errors.Is(err, want) {
			t.Errorf("call %d: %v", i+1, err)
		}
	}
	if charges != 1 {
		t.Errorf("charged %d times", charges)
	}
}

// A handler should wait for its steps. If it does not, its key stays claimed:
// the next attempt finds out whether the step is done.
func TestStepThatStillRunsKeepsTheClaim(t *testing.T) {
	for _, fail := range []error{errCrash, soldOut()} {
		store := memory.New(0)
		begun, goOn, ended := make(chan bool), make(chan bool), make(chan error)
		_, event, err := do(t.Context(), newExecutor(t, store, nil), func(ctx context.Context) (string, error) {
			go func() {
				_, err := idempotent.SagaStep(ctx, "charge", func(context.Context) (string, error) {
					close(begun)
					<-goOn
					return "", nil
				}, func(context.Context, string) error { return nil })
				ended <- err
			}()
			<-begun
			return "", fail
		})
		close(goOn)
		if late := <-ended; late != nil {
			t.Error(late)
		}
		var unacknowledged *idempotent.StoreError
		if r := stored(t, store); !errors.As(err, &unacknowledged) || event.Outcome != idempotent.OutcomeUnknown || len(r.Steps) != 1 || r.Owner == "" {
			t.Errorf("%v, %v, %+v", err, event.Outcome, r)
		}
	}
}

// Heartbeats that succeed do not keep a call alive whose step the store
// refuses.
func TestStepThatTheStoreRefusesEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &proxy{Store: memory.New(0), change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if len(c.Steps) > 0 {
				return driver.Record{}, false, errors.New("access denied")
			}
			return next()
		}}
		began := time.Now()
		_, _, err := do(t.Context(), newExecutor(t, p, nil), func(ctx context.Context) (string, error) {
			return idempotent.Step(ctx, "charge", returns("x"))
		})
		var failed *idempotent.StoreError
		if !errors.As(err, &failed) || !failed.Executed || time.Since(began) > time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestStepOfALostLease(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	_, event, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
		r := stored(t, store)
		r.Owner, r.Attempt = "successor", 2
		if err := store.Put(r); err != nil {
			t.Fatal(err)
		}
		_, err := idempotent.Step(ctx, "charge", returns("done"))
		if !errors.Is(err, idempotent.ErrLeaseLost) || !errors.Is(context.Cause(ctx), idempotent.ErrLeaseLost) {
			t.Errorf("%v; the context: %v", err, context.Cause(ctx))
		}
		return "", err
	})
	if !errors.Is(err, idempotent.ErrLeaseLost) || event.Outcome != idempotent.OutcomeLeaseLost {
		t.Errorf("%v, %+v", err, event)
	}
	if r := stored(t, store); len(r.Steps) > 0 || r.Owner != "successor" {
		t.Errorf("the successor's record: %+v", r)
	}
}

// The context of a step's work often ends with it.
func TestStepIsStoredAfterItsOwnContextHasEnded(t *testing.T) {
	store, failed := memory.New(0), false
	p := &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if len(c.Steps) > 0 && !failed {
			failed = true
			return driver.Record{}, false, errNetwork
		}
		return next()
	}}
	value, event, err := do(t.Context(), newExecutor(t, p, nil), func(ctx context.Context) (string, error) {
		own, cancel := context.WithCancel(ctx)
		return idempotent.Step(own, "charge", func(context.Context) (string, error) { cancel(); return "charged", nil })
	})
	if err != nil || value != "charged" || event.Outcome != idempotent.OutcomeExecuted || !failed {
		t.Errorf("%q, %v, %+v", value, err, event)
	}
}
