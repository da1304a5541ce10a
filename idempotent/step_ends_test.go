package idempotent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

func TestStepThatEndsAfterItsCall(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	begun, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	_, _, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
		go func() {
			_, err := idempotent.Step(ctx, "late", func(context.Context) (string, error) {
				close(begun)
				<-goOn
				return "", nil
			})
			ended <- err
		}()
		<-begun
		return "recorded", nil
	})
	close(goOn)
	var late *idempotent.StoreError
	if lateErr := <-ended; err != nil || !errors.As(lateErr, &late) || !late.Executed || !strings.Contains(lateErr.Error(), "the handler returned") {
		t.Errorf("%v, %v", err, lateErr)
	}
}

func TestStepUnheardKeepsTheClaim(t *testing.T) {
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

func TestStepUnheardKeepsTheClaimOfAPanic(t *testing.T) {
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

func TestStepAfterTheHandlerIsRefused(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	var late context.Context
	if _, _, err := do(t.Context(), x, func(ctx context.Context) (string, error) { late = ctx; return "", nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := idempotent.Step(late, "charge", mustNotRun(t)); !errors.Is(err, idempotent.ErrStep) {
		t.Error(err)
	}
}

func TestStepDoesNotBeginWithoutTime(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := do(ctx, x, func(ctx context.Context) (string, error) {
		cancel()
		return idempotent.Step(ctx, "charge", mustNotRun(t))
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
