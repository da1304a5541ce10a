package idempotent_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

func TestEventsOfBadEndings(t *testing.T) {
	panics := func(context.Context) (string, error) { panic("boom") }
	call := func(x *idempotent.Executor, key idempotent.Key, fn func(context.Context) (string, error)) idempotent.Event {
		ctx, event := adapter.WithEvent(t.Context())
		defer func() { _ = recover() }()
		func() {
			defer func() { _ = recover() }()
			_, _ = idempotent.Do(ctx, x, key, fn)
		}()
		return *event
	}
	down := &proxy{Store: memory.New(0), create: func(context.Context, driver.Record, time.Time, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		return driver.Record{}, false, errNetwork
	}}
	open := newExecutor(t, down, &idempotent.Config{OnStoreError: idempotent.FailOpen})
	if e := call(open, theKey, panics); e.Outcome != idempotent.OutcomeBypassed || !errors.Is(e.Err, idempotent.ErrStore) {
		t.Errorf("a panic in a run that failed open: %q, %v", e.Outcome, e.Err)
	}
	unprotected := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	if e := call(unprotected, idempotent.Key{}, panics); e.Err == nil {
		t.Errorf("a panic in a bypassed run: %q, %v", e.Outcome, e.Err)
	}
	noRelease := &proxy{Store: memory.New(0), change: func(context.Context, driver.Fence, driver.Change, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		return driver.Record{}, false, errNetwork
	}}
	if e := call(newExecutor(t, noRelease, nil), theKey, failsWith(errors.New("try again"))); e.Outcome == idempotent.OutcomeReleased {
		t.Errorf("'released' says that the key is free; nothing was released: %v", e.Err)
	}
}

// The retry inside one call: what is passed over replaces what was passed over.
func TestFailOpenHidesWhyItFailedOpen(t *testing.T) {
	down := claimsFail(memory.New(0))
	down.change = func(context.Context, driver.Fence, driver.Change, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		return driver.Record{}, false, errors.New("no permission")
	}
	_, event, _ := do(t.Context(), newExecutor(t, down, &idempotent.Config{OnStoreError: idempotent.FailOpen}), returns("x"))
	if !errors.Is(event.Err, driver.ErrUnavailable) {
		t.Errorf("Err should say why it failed open: %v", event.Err)
	}
}
