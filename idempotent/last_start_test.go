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
)

// startsBy returns a context whose handlers start within d, or not at all.
func startsBy(ctx context.Context, d time.Duration, more adapter.Settings) context.Context {
	more.LastStart, more.Late = time.Now().Add(d), errHalted
	return adapter.With(ctx, more)
}

// answering delays the answers to claims, whatever their context.
func answering(store driver.Store, after time.Duration) *proxy {
	return &proxy{Store: store, create: func(_ context.Context, _ driver.Record, _ time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		met, ok, err := next()
		time.Sleep(after)
		return met, ok, err
	}}
}

// A claim that is not answered takes half of the time until the last start, and
// its release half of the rest.
func TestHungClaimLeavesTimeBeforeTheLastStart(t *testing.T) {
	for _, c := range []struct {
		name             string
		config           idempotent.Config
		store            silent
		lapsed           bool
		lastStart, takes time.Duration
	}{
		{"the claim", idempotent.Config{}, silent{creates: true}, false, 4 * time.Second, 2 * time.Second},
		{"the claim and its release", idempotent.Config{}, silent{creates: true, rest: true}, false, time.Second, 750 * time.Millisecond},
		{"the Reserve bounds the release, too", idempotent.Config{}, silent{creates: true, rest: true}, false, 4 * time.Second, 2500 * time.Millisecond},
		{"the takeover", idempotent.Config{}, silent{takeovers: true}, true, 4 * time.Second, 2 * time.Second},
		{"the read", idempotent.Config{ReadFirst: true}, silent{gets: true}, false, 4 * time.Second, time.Second},
		{"the read and the claim", idempotent.Config{ReadFirst: true}, silent{gets: true, creates: true}, false, 4 * time.Second, 2500 * time.Millisecond},
		{"much time", idempotent.Config{}, silent{creates: true}, false, time.Hour, 5 * time.Second},
		{"little time", idempotent.Config{}, silent{creates: true}, false, 10 * time.Millisecond, 500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New(0)
				if c.lapsed {
					abandonClaim(t, store, time.Minute)
					time.Sleep(2 * time.Minute)
				}
				c.store.Store = store
				begun := time.Now()
				_, event, err := do(startsBy(t.Context(), c.lastStart, adapter.Settings{}), newExecutor(t, &c.store, &c.config), returns(""))
				const pauses = 10 * time.Millisecond // before a takeover
				if took := time.Since(begun); took < c.takes || took > c.takes+pauses {
					t.Errorf("it took %v, want %v", took, c.takes)
				}
				if runs := !c.store.creates && !c.store.takeovers; runs != (err == nil) || !event.ErrorIs(driver.ErrUnavailable) {
					t.Errorf("%v, %+v", err, event)
				}
			})
		})
	}
}

// A read while the call waits for a duplicate does not take the whole wait.
func TestHungReadEndsAWaitBeforeTheLastStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		abandonClaim(t, store, time.Hour)
		wait := time.Hour
		begun := time.Now()
		_, event, err := do(startsBy(t.Context(), time.Minute, adapter.Settings{Wait: &wait}), newExecutor(t, &silent{Store: store, gets: true}, nil), mustNotRun(t))
		if took := time.Since(begun); took > 6*time.Second || !errors.Is(err, driver.ErrUnavailable) || event.Outcome != idempotent.OutcomeFailed {
			t.Errorf("%v, %+v after %v", err, event, took)
		}
	})
}

// The handler would start with too little time, and be cut off behind its
// effect.
func TestClaimAnsweredAfterTheLastStartDoesNotRun(t *testing.T) {
	const lastStart = 4 * time.Second
	granted := func(context.Context) error { return nil }
	for _, c := range []struct {
		name   string
		config idempotent.Config
		more   adapter.Settings
		lapsed time.Duration // of the earlier attempt's lease
		want   driver.Record
	}{
		{"a first claim", idempotent.Config{}, adapter.Settings{}, 0, driver.Record{}},
		{"with a limit of attempts", idempotent.Config{MaxAttempts: 1}, adapter.Settings{}, 0, driver.Record{}},
		{"ahead, in its turn", idempotent.Config{}, adapter.Settings{Turn: granted}, 0, driver.Record{}},
		{"a lapsed claim is met", idempotent.Config{}, adapter.Settings{}, time.Minute, driver.Record{Status: driver.InProgress, Attempt: 1, Owner: "crashed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New(0)
				if c.lapsed > 0 {
					abandonClaim(t, store, c.lapsed)
					time.Sleep(2 * c.lapsed)
				}
				_, event, err := do(startsBy(t.Context(), lastStart, c.more), newExecutor(t, answering(store, lastStart+1), &c.config), mustNotRun(t))
				checkNotRun(t, event, err)
				if r := stored(t, store); r.Status != c.want.Status || r.Attempt != c.want.Attempt || r.Owner != c.want.Owner || r.Refunds != 0 {
					t.Errorf("it left %+v", r)
				}
			})
		})
	}
}

// At the last start itself a handler starts, and it may end later.
func TestClaimAnsweredAtTheLastStartRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, answering(memory.New(0), time.Second), nil)
		value, event, err := do(startsBy(t.Context(), time.Second, adapter.Settings{}), x, func(ctx context.Context) (string, error) {
			time.Sleep(time.Minute)
			_, inner, err := do(ctx, newExecutor(t, memory.New(0), nil), returns("inner"))
			if err != nil || inner.Outcome != idempotent.OutcomeExecuted {
				t.Errorf("the call within: %v, %+v", err, inner)
			}
			return "ran", ctx.Err()
		})
		if err != nil || value != "ran" || event.Outcome != idempotent.OutcomeExecuted {
			t.Errorf("%q, %v, %+v", value, err, event)
		}
	})
}

// A finished record needs no start.
func TestReplayAnsweredAfterTheLastStartIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		if _, _, err := do(t.Context(), newExecutor(t, store, nil), returns("done")); err != nil {
			t.Fatal(err)
		}
		value, event, err := do(startsBy(t.Context(), time.Second, adapter.Settings{}), newExecutor(t, answering(store, 2*time.Second), nil), mustNotRun(t))
		if err != nil || value != "done" || event.Outcome != idempotent.OutcomeReplayed {
			t.Errorf("%q, %v, %+v", value, err, event)
		}
	})
}

// Runs without a claim do not start late either.
func TestRunsWithoutAClaimKeepTheLastStart(t *testing.T) {
	for name, config := range map[string]idempotent.Config{
		"optimistic":    {Optimistic: true, ReadFirst: true},
		"without a key": {OnMissingKey: idempotent.RunMissingKey},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, event := adapter.WithEvent(startsBy(t.Context(), -1, adapter.Settings{}))
				key := theKey
				if name == "without a key" {
					key = idempotent.Key{}
				}
				_, err := idempotent.Do(ctx, newExecutor(t, newBank(), &config), key, mustNotRun(t))
				checkNotRun(t, event, err)
			})
		})
	}
}

// An adapter need not name an error.
func TestLateStartWithoutAnErrorIsADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := adapter.With(t.Context(), adapter.Settings{LastStart: time.Now().Add(-1)})
		if _, event, err := do(ctx, newExecutor(t, memory.New(0), nil), mustNotRun(t)); err != context.DeadlineExceeded || event.Outcome != idempotent.OutcomeNotRun || event.RoundTrips != 0 {
			t.Errorf("%v, %+v", err, event)
		}
	})
}
