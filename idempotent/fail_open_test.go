package idempotent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

func TestFailOpen(t *testing.T) {
	open := &idempotent.Config{OnStoreError: idempotent.FailOpen}
	down := func(context.Context, driver.Record, time.Time, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		return driver.Record{}, false, errNetwork
	}
	lost := func(_ context.Context, _ driver.Record, _ time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if _, _, err := next(); err != nil {
			return driver.Record{}, false, err
		}
		return driver.Record{}, false, errNetwork
	}
	for name, create := range map[string]createHook{"the claim was not stored": once(down), "its answer was lost": once(lost)} {
		t.Run(name+", success", func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, &proxy{Store: store, create: create}, open)
			value, event, err := do(t.Context(), x, returns("ran"))
			if err != nil || value != "ran" || event.Outcome != idempotent.OutcomeBypassed || !errors.Is(event.Err, errNetwork) {
				t.Errorf("got %q, %v, %+v", value, err, event)
			}
			if value, _, err := do(t.Context(), x, mustNotRun(t)); err != nil || value != "ran" {
				t.Errorf("the end was not recorded: %q, %v", value, err)
			}
		})
	}
	t.Run("error", func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, &proxy{Store: store, create: once(lost)}, open)
		first := errors.New("try again")
		if _, _, err := do(t.Context(), x, failsWith(first)); err != first {
			t.Errorf("first: %v", err)
		}
		if value, _, err := do(t.Context(), x, returns("second")); err != nil || value != "second" {
			t.Errorf("second: %q, %v", value, err)
		}
	})
	t.Run("the store stays down", func(t *testing.T) {
		x := newExecutor(t, &proxy{Store: unusable{}, create: down, change: func(context.Context, driver.Fence, driver.Change, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			return driver.Record{}, false, errNetwork
		}}, open)
		value, event, err := do(t.Context(), x, returns("ran"))
		if err != nil || value != "ran" || event.Outcome != idempotent.OutcomeBypassed || event.RoundTrips != 2 {
			t.Errorf("got %q, %v, %+v", value, err, event)
		}
	})
	t.Run("not for what is wrong for good", func(t *testing.T) {
		x := newExecutor(t, &proxy{Store: memory.New(0), create: func(context.Context, driver.Record, time.Time, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			return driver.Record{}, false, errors.New("no such table")
		}}, open)
		if _, _, err := do(t.Context(), x, mustNotRun(t)); !errors.Is(err, idempotent.ErrStore) {
			t.Error(err)
		}
	})
	t.Run("another completed meanwhile", func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, &proxy{Store: store, create: once(down)}, open)
		value, _, err := do(t.Context(), x, func(context.Context) (string, error) {
			if _, _, err := do(context.Background(), newExecutor(t, store, nil), returns("theirs")); err != nil {
				t.Error(err)
			}
			return "ours", nil
		})
		if err != nil || value != "theirs" {
			t.Errorf("got %q, %v", value, err)
		}
	})
}

// claimsFail is a store whose claims fail, for runs that fail open.
func claimsFail(store driver.Store) *proxy {
	return &proxy{Store: store, create: func(_ context.Context, r driver.Record, _ time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if r.Status == driver.InProgress {
			return driver.Record{}, false, errNetwork
		}
		return next()
	}}
}

// A call in an invocation fails open when the store hangs, with time left for
// its handler.
func TestHungStoreFailsOpenWithinTheInvocation(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		p := &proxy{Store: memory.New(0), create: func(ctx context.Context, _ driver.Record, _ time.Time, _ func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			<-ctx.Done()
			return driver.Record{}, false, errNetwork
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		begun := time.Now()
		value, _, err := do(ctx, newExecutor(t, p, &idempotent.Config{OnStoreError: idempotent.FailOpen}), returns("ran"))
		if err != nil || value != "ran" {
			t.Errorf("after %v of an invocation of 30 s: %v", time.Since(begun), err)
		}
	})
}

// A run that failed open compares its payload with the record that it meets
// when it finishes.
func TestFailOpenReplaysNoOtherPayload(t *testing.T) {
	second := theKey
	second.Payload = 2
	open := &idempotent.Config{OnStoreError: idempotent.FailOpen}
	t.Run("gets the other's result", func(t *testing.T) {
		store := memory.New(0)
		_, _, _ = do(t.Context(), newExecutor(t, store, nil), returns("first payload's"))
		got, err := idempotent.Do(t.Context(), newExecutor(t, claimsFail(store), open), second, returns("second payload's"))
		if err == nil && got != "second payload's" {
			t.Errorf("the second payload is answered with %q", got)
		}
	})
	t.Run("leaves its result to the other", func(t *testing.T) {
		store := memory.New(0)
		// The first payload's second attempt was released: the record stays.
		counting := newExecutor(t, store, &idempotent.Config{MaxAttempts: 5})
		_, _, _ = do(t.Context(), counting, failsWith(errors.New("try again")))
		_, err := idempotent.Do(t.Context(), newExecutor(t, claimsFail(store), open), second, returns("second payload's"))
		got, _, err2 := do(t.Context(), counting, returns("first payload's"))
		if err2 == nil && got != "first payload's" {
			t.Errorf("the first payload is answered with %q (the run that failed open got %v)", got, err)
		}
	})
}

// A run that failed open replaces a record that has expired and that TTL has
// not deleted yet.
func TestFailOpenReplacesAnExpiredRecord(t *testing.T) {
	store := memory.New(0)
	if err := store.Put(driver.Record{ID: recordID(t, theKey), Status: driver.Completed, Owner: "x", Attempt: 1,
		Expires: time.Now().Add(-48 * time.Hour), Data: []byte(`"of the day before yesterday"`)}); err != nil {
		t.Fatal(err)
	}
	x := newExecutor(t, claimsFail(store), &idempotent.Config{OnStoreError: idempotent.FailOpen})
	if got, event, err := do(t.Context(), x, returns("today's")); err != nil || got != "today's" {
		t.Errorf("got %q, %v, %+v", got, err, event)
	}
	if got, _, err := do(t.Context(), newExecutor(t, store, nil), returns("second run")); err != nil || got != "today's" {
		t.Errorf("done work was not recorded and ran again: %q, %v", got, err)
	}
}

// A later error of the store does not replace the one that let the call fail
// open.
func TestEventReportsWhyACallFailedOpen(t *testing.T) {
	down := claimsFail(memory.New(0))
	down.change = func(context.Context, driver.Fence, driver.Change, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		return driver.Record{}, false, errors.New("no permission")
	}
	_, event, _ := do(t.Context(), newExecutor(t, down, &idempotent.Config{OnStoreError: idempotent.FailOpen}), returns("x"))
	if !errors.Is(event.Err, driver.ErrUnavailable) {
		t.Errorf("Err should say why it failed open: %v", event.Err)
	}
}

type lostClaims struct {
	*bank
	notSent bool
}

func (p *lostClaims) Create(ctx context.Context, r driver.Record, over time.Time, with any) (driver.Record, bool, error) {
	if r.Status != driver.InProgress {
		return p.bank.Create(ctx, r, over, with)
	}
	if p.notSent {
		return driver.Record{}, false, errNetwork
	}
	_, _, err := p.bank.Create(ctx, r, over, with)
	return driver.Record{}, false, errors.Join(errNetwork, err)
}

// The claim of a call that failed open may have landed. Then its fence protects
// the transaction.
func TestFailOpenCommitsUnderTheClaimThatLanded(t *testing.T) {
	b := newBank()
	lost := &lostClaims{bank: b}
	x := newExecutor(t, lost, &idempotent.Config{OnStoreError: idempotent.FailOpen})
	value, event, err := do(t.Context(), x, books("x", nil))
	if err != nil || value != "x" || event.Outcome != idempotent.OutcomeExecuted || event.Attempt != 1 {
		t.Errorf("%q, %v, %+v", value, err, event)
	}
	b.holds(t, "x")
}

// A transaction that meets another's result writes nothing. A handler with
// effects of its own would repeat them.
func TestFailOpenNeverCommitsBesideAnother(t *testing.T) {
	b := newBank()
	if _, _, err := do(t.Context(), newExecutor(t, b, nil), books("first", nil)); err != nil {
		t.Fatal(err)
	}
	down := &lostClaims{bank: b, notSent: true}
	value, event, err := do(t.Context(), newExecutor(t, down, &idempotent.Config{OnStoreError: idempotent.FailOpen}), books("second", nil))
	if err != nil || value != "first" || event.Outcome != idempotent.OutcomeReplayed {
		t.Errorf("%q, %v, %+v", value, err, event)
	}
	b.holds(t, "first")
}
