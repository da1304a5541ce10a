package idempotent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// startsBy returns a context whose handlers start within d, or not at all.
func startsBy(ctx context.Context, d time.Duration, more ...adapter.Setting) context.Context {
	return adapter.With(ctx, append(more, adapter.LastStart(time.Now().Add(d), errHalted))...)
}

// answering delays the answers to claims, whatever their context.
func answering(store driver.Store, after time.Duration) *proxy {
	return hooked(store, on(isCreate, delayed(after)))
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
		bubble(t, c.name, func(t *testing.T) {
			store := memory.New(0)
			if c.lapsed {
				store = abandoned(t)
			}
			begun := time.Now()
			_, event, err := do(startsBy(t.Context(), c.lastStart), newExecutor(t, c.store.over(store), &c.config), returns(""))
			const pauses = 10 * time.Millisecond // before a takeover
			took(t, begun, c.takes, c.takes+pauses)
			runs := !c.store.creates && !c.store.takeovers
			check.Equal(t, runs, (err == nil))
			check.True(t, event.ErrorIs(driver.ErrUnavailable))
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
		try(startsBy(t.Context(), time.Minute, adapter.Wait(wait)), t, newExecutor(t, silent{gets: true}.over(store), nil), mustNotRun(t)).is(driver.ErrUnavailable).ended(idempotent.OutcomeFailed)
		took(t, begun, 0, 6*time.Second)
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
		more   []adapter.Setting
		lapsed bool // the earlier attempt's lease
		want   string
	}{
		{"a first claim", idempotent.Config{}, nil, false, "no record"},
		{"with a limit of attempts", idempotent.Config{MaxAttempts: 1}, nil, false, "no record"},
		{"ahead, in its turn", idempotent.Config{}, []adapter.Setting{adapter.Turn(granted)}, false, "no record"},
		{"a lapsed claim is met", idempotent.Config{}, nil, true, "in progress by crashed"},
	} {
		bubble(t, c.name, func(t *testing.T) {
			store := memory.New(0)
			if c.lapsed {
				store = abandoned(t)
			}
			try(startsBy(t.Context(), lastStart, c.more...), t, newExecutor(t, answering(store, lastStart+1), &c.config), mustNotRun(t)).notRun()
			recordIs(t, store, c.want)
		})
	}
}

// At the last start itself a handler starts, and it may end later.
func TestClaimAnsweredAtTheLastStartRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, answering(memory.New(0), time.Second), nil)
		try(startsBy(t.Context(), time.Second), t, x, func(ctx context.Context) (string, error) {
			time.Sleep(time.Minute)
			try(ctx, t, newExecutor(t, memory.New(0), nil), returns("inner")).succeeded().ended(idempotent.OutcomeExecuted)
			return "ran", ctx.Err()
		}).returned("ran").ended(idempotent.OutcomeExecuted)
	})
}

// A finished record needs no start.
func TestReplayAnsweredAfterTheLastStartIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		try(t.Context(), t, newExecutor(t, store, nil), returns("done")).succeeded()
		try(startsBy(t.Context(), time.Second), t, newExecutor(t, answering(store, 2*time.Second), nil), mustNotRun(t)).returned("done").ended(idempotent.OutcomeReplayed)
	})
}

// Runs without a claim do not start late either.
func TestRunsWithoutAClaimKeepTheLastStart(t *testing.T) {
	for name, config := range map[string]idempotent.Config{
		"optimistic":    {Optimistic: true, ReadFirst: true},
		"without a key": {OnMissingKey: idempotent.RunMissingKey},
	} {
		bubble(t, name, func(t *testing.T) {
			key := theKey
			if name == "without a key" {
				key = idempotent.Key{}
			}
			tryKey(startsBy(t.Context(), -1), t, newExecutor(t, newBank(), &config), key, mustNotRun(t)).notRun()
		})
	}
}

// An adapter need not name an error.
func TestLateStartWithoutAnErrorIsADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := adapter.With(t.Context(), adapter.LastStart(time.Now().Add(-1), nil))
		try(ctx, t, newExecutor(t, memory.New(0), nil), mustNotRun(t)).fails(context.DeadlineExceeded).ended(idempotent.OutcomeNotRun).roundTrips(0)
	})
}
