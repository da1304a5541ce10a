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
	"github.com/lambda-once/once/internal/check"
)

// remembers returns a Config for a provider that forgets after an hour, less a second by
// the clocks.
func remembers() *idempotent.Config { return &idempotent.Config{ProviderMemory: time.Hour} }

// forgottenIn is when a provider has forgotten what was sent at the beginning, by every
// clock.
const forgottenIn = time.Hour - time.Second

// longest is how long a handler runs at most under a lease that nobody extends.
const longest = time.Minute - 500*time.Millisecond

// began lets a record be left behind that began so long ago.
func began(ago time.Duration) func(*driver.Record) {
	return func(r *driver.Record) {
		lapsed(r)
		r.Began = driver.WholeMillis(time.Now().Add(-ago))
	}
}

// beganAt checks a beginning, which is in whole milliseconds. Before it a call may have
// paused between two writes.
func beganAt(t testing.TB, got, want time.Time) {
	t.Helper()
	d := got.Sub(driver.WholeMillis(want))
	check.True(t, d >= 0, d)
	check.True(t, d < 100*time.Millisecond, d)
}

// refusedAsForgotten checks that nothing was run because a provider has forgotten.
func (r result) refusedAsForgotten() result {
	r.t.Helper()
	return r.is(idempotent.ErrKeyForgotten).is(idempotent.ErrOutcomeUnknown).ended(idempotent.OutcomeForgotten).attempt(0).with("")
}

func TestProviderMemory(t *testing.T) {
	unlimited, twice := idempotent.Config{}, *remembers()
	twice.MaxAttempts = 2
	late := *remembers()
	late.RefuseLate, late.Retention = true, time.Hour
	reads := *remembers()
	reads.ReadFirst = true
	const bound = forgottenIn - longest
	forgotten, forgottenOutcome := idempotent.ErrKeyForgotten, idempotent.OutcomeForgotten
	for _, test := range []struct {
		name    string
		config  idempotent.Config
		meets   func(*driver.Record) // nil: nothing
		value   string
		err     error
		outcome idempotent.Outcome
	}{
		{"nothing", *remembers(), nil, "ours", nil, idempotent.OutcomeExecuted},
		{"a crash, at the bound", *remembers(), began(bound), "ours", nil, idempotent.OutcomeTakeover},
		{"a crash, a millisecond behind", *remembers(), began(bound + time.Millisecond), "", forgotten, forgottenOutcome},
		{"a crash, and no limit", unlimited, began(72 * time.Hour), "ours", nil, idempotent.OutcomeTakeover},
		{"a crash of an earlier version", *remembers(), lapsed, "ours", nil, idempotent.OutcomeTakeover},
		{"an attempt left", twice, began(72 * time.Hour), "", forgotten, forgottenOutcome},
		{"a late key", late, began(72 * time.Hour), "", forgotten, forgottenOutcome},
		{"a read", reads, began(72 * time.Hour), "", forgotten, forgottenOutcome},
	} {
		bubble(t, test.name, func(t *testing.T) {
			store := memory.New(0)
			if test.meets != nil {
				check.Must(t, store.Put(met(t, test.meets)))
			}
			before := stored(t, store)
			ran := false
			tryIssued(t.Context(), t, newExecutor(t, store, &test.config), 2*time.Hour, func(context.Context) (string, error) {
				ran = true
				return "ours", nil
			}).with(test.value).is(test.err).ended(test.outcome)
			check.Equal(t, ran, test.value == "ours")
			if !ran {
				check.Deep(t, stored(t, store), before)
			}
		})
	}
}

func TestKeyForgottenErrorSaysWhenTheFirstAttemptBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storing(t, func(r *driver.Record) { began(72 * time.Hour)(r); r.Attempt = 3; r.Refunds = 1 })
		r := try(t.Context(), t, newExecutor(t, store, remembers()), mustNotRun(t)).refusedAsForgotten()
		forgotten := check.As[*idempotent.KeyForgottenError](t, r.err)
		check.Time(t, forgotten.Began, time.Now().Add(-72*time.Hour))
		check.Equal(t, forgotten.Attempts, 2)
		check.Equal(t, forgotten.RecordID, r.event.RecordID)
		check.Contains(t, forgotten.Error(), "began at 1999-12-29T00:00:00Z")
		check.False(t, errors.Is(r.err, idempotent.ErrKeyExpired), "it says that the key expired")
	})
}

// What an attempt may have sent is remembered from its claim on.
func TestRecordKnowsWhenItBegan(t *testing.T) {
	for _, config := range []*idempotent.Config{nil, remembers()} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, store, config)
			first := driver.WholeMillis(time.Now())
			at := func(want time.Time, err error) func(context.Context) (string, error) {
				return func(ctx context.Context) (string, error) {
					claim, _ := idempotent.FromContext(ctx)
					check.Time(t, claim.Began, want)
					check.Time(t, stored(t, store).Began, want)
					return "", err
				}
			}
			_, err := idempotent.Do(t.Context(), x, theKey, func(ctx context.Context) (string, error) {
				_, err := idempotent.Step(ctx, "a", at(first, nil)) // a trace, for which the record is kept
				return "", errors.Join(err, errCrash)
			})
			check.Is(t, err, errCrash)
			check.Time(t, stored(t, store).Began, first)
			time.Sleep(10 * time.Minute)
			try(t.Context(), t, x, at(first, errCrash)).is(errCrash)
			time.Sleep(10 * time.Minute)
			try(t.Context(), t, x, at(first, idempotent.Retryable(errCrash))).is(errCrash)
			time.Sleep(10 * time.Minute)
			try(t.Context(), t, x, at(first, nil)).succeeded()
			check.Time(t, stored(t, store).Began, first)
		})
	}
}

func TestClaimWithoutARecordHasNoBeginning(t *testing.T) {
	t.Setenv("ONCE_DISABLED", "1")
	try(t.Context(), t, newExecutor(t, memory.New(0), remembers()), func(ctx context.Context) (string, error) {
		claim, _ := idempotent.FromContext(ctx)
		check.True(t, claim.Began.IsZero())
		return "", nil
	}).succeeded().ended(idempotent.OutcomeBypassed)
}

// The record of an earlier version is continued once more, and begins with that.
func TestTakeoverOfARecordThatDoesNotKnowSetsItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := abandoned(t)
		x := newExecutor(t, store, remembers())
		at := time.Now()
		try(t.Context(), t, x, func(ctx context.Context) (string, error) {
			claim, _ := idempotent.FromContext(ctx)
			beganAt(t, claim.Began, at)
			return "", errCrash
		}).is(errCrash)
		beganAt(t, stored(t, store).Began, at)
		time.Sleep(forgottenIn)
		try(t.Context(), t, x, mustNotRun(t)).refusedAsForgotten()
	})
}

// An error may hide an answer that was lost: only Retryable says that nothing was sent.
func TestReleaseKeepsTheRecordWhoseProviderMayKnowIt(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		leaves string
	}{
		"an error":       {errCrash, "released"},
		"Retryable":      {idempotent.Retryable(errCrash), "no record"},
		"for good":       {idempotent.Permanent(errCrash), "failed"},
		"a timeout":      {context.DeadlineExceeded, "released"},
		"without memory": {nil, "no record"},
	} {
		bubble(t, name, func(t *testing.T) {
			store, config := memory.New(0), remembers()
			if test.err == nil {
				config, test.err = nil, errCrash
			}
			x := newExecutor(t, store, config)
			try(t.Context(), t, x, failsWith(test.err)).failed()
			recordIs(t, store, test.leaves)
			if test.leaves != "released" {
				return
			}
			check.True(t, stored(t, store).Expires.Year() == 9999, "it expires before a person has seen it")
			time.Sleep(forgottenIn)
			try(t.Context(), t, x, mustNotRun(t)).refusedAsForgotten()
		})
	}
}

// The steps of a durable execution have claims of their own, which know when they
// began: its own claim is as old as the execution.
func TestStepsOfAnExecutionAreForgottenByThemselves(t *testing.T) {
	for limit, config := range map[bool]*idempotent.Config{true: remembers(), false: nil} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New(0)
			execution := adapter.Execution{ID: []string{"arn", "step"}, Until: time.Now().Add(24 * time.Hour)}
			ctx := adapter.With(t.Context(), adapter.Durable(execution))
			x := newExecutor(t, hooked(store, fails(isRelease, errNetwork)), config)
			try(ctx, t, x, failsWith(errCrash)).failed() // and its record stays in progress
			time.Sleep(2 * time.Hour)
			r := try(ctx, t, newExecutor(t, store, config), func(context.Context) (string, error) {
				check.False(t, limit, "the step ran after the provider has forgotten")
				return "ours", nil
			})
			if limit {
				r.refusedAsForgotten()
			} else {
				r.returned("ours")
			}
		})
	}
}
