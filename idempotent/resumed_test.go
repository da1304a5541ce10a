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

// notResumed checks that nothing was run, and why.
func (r result) notResumed(why string) result {
	r.t.Helper()
	check.Says(r.t, r.err, why)
	return r.is(idempotent.ErrResume).ended(idempotent.OutcomeNotRun).attempt(0)
}

// A resumer does with a record what a repetition does, and never makes one.
func TestResumed(t *testing.T) {
	once, reads, open, refuses := *resumes(), *resumes(), *resumes(), *resumes()
	once.MaxAttempts = 1
	reads.ReadFirst = true
	open.OnStoreError = idempotent.FailOpen
	refuses.ProviderMemory = time.Hour
	for _, test := range []struct {
		name    string
		config  idempotent.Config
		meets   func(*driver.Record) // nil: nothing
		value   string
		err     error
		outcome idempotent.Outcome
	}{
		{"a lapsed call", *resumes(), lapsed, "ours", nil, idempotent.OutcomeTakeover},
		{"a released call", *resumes(), func(r *driver.Record) { r.Owner, r.Lease = "", driver.LeaseEnded }, "ours", nil, idempotent.OutcomeTakeover},
		{"a running call", *resumes(), func(*driver.Record) {}, "", idempotent.ErrInProgress, idempotent.OutcomeConflict},
		{"a finished call", *resumes(), finished, "theirs", nil, idempotent.OutcomeReplayed},
		{"an expired call", *resumes(), expired, "", idempotent.ErrResume, idempotent.OutcomeNotRun},
		{"another payload", *resumes(), func(r *driver.Record) { lapsed(r); r.Fingerprint = "another" }, "", idempotent.ErrKeyReused, idempotent.OutcomeNotRun},
		{"no attempt left", once, lapsed, "", idempotent.ErrOutcomeUnknown, idempotent.OutcomeUnknown},
		{"a provider that has forgotten", refuses, began(2 * time.Hour), "", idempotent.ErrKeyForgotten, idempotent.OutcomeForgotten},
		{"a provider that remembers", refuses, began(10 * time.Minute), "ours", nil, idempotent.OutcomeTakeover},
		{"a status of another version", *resumes(), func(r *driver.Record) { lapsed(r); r.Status = "PAUSED" }, "", idempotent.ErrStore, idempotent.OutcomeNotRun},
		{"reading first", reads, lapsed, "ours", nil, idempotent.OutcomeTakeover},
		{"failing open", open, lapsed, "ours", nil, idempotent.OutcomeTakeover},
	} {
		bubble(t, test.name, func(t *testing.T) {
			store := memory.New(0)
			read := met(t, test.meets)
			check.Must(t, store.Put(read))
			before, p := stored(t, store), hooked(store, nil)
			ran := false
			x := newExecutor(t, p, &test.config)
			resumeWith(t, x, read, theKey, func(context.Context) (string, error) {
				ran = true
				return "ours", nil
			}).with(test.value).is(test.err).ended(test.outcome)
			check.Equal(t, ran, test.value == "ours")
			if !ran {
				check.Equal(t, p.tries, 0)
				check.Deep(t, stored(t, store), before)
			}
			check.Equal(t, p.reads, 0, "it was read a second time")
		})
	}
}

// resumeWith calls the handler of x, whose key this is, for the record as it was read before.
func resumeWith(t *testing.T, x *idempotent.Executor, read driver.Record, key idempotent.Key, fn func(context.Context) (string, error)) result {
	t.Helper()
	wrapped := idempotent.Wrap(x, func(order) (idempotent.Key, error) { return key, nil }, func(ctx context.Context, _ order) (string, error) { return fn(ctx) })
	ctx, event := adapter.WithEvent(adapter.With(t.Context(), adapter.Resumed(read)))
	value, err := wrapped(ctx, theOrder)
	return result{t, value, event, err}
}

func TestResumedRecordOfAnotherKeyIsLeft(t *testing.T) {
	store := storing(t, lapsed)
	before := stored(t, store)
	x := newExecutor(t, store, resumes())
	today := theKey
	today.ID = "another"
	resumeWith(t, x, before, today, mustNotRun(t)).notResumed("the key of its request is another one today").roundTrips(0)
	resumeWith(t, x, before, idempotent.Key{}, mustNotRun(t)).notResumed("the key of its request is another one today").is(idempotent.ErrMissingKey)
	check.Deep(t, stored(t, store), before)
	check.Equal(t, len(scan(t, store)), 1)
}

// Between the read and the takeover somebody else was quicker.
func TestResumedRecordThatHasChangedSinceItWasRead(t *testing.T) {
	for name, test := range map[string]struct {
		since func(t *testing.T, store *memory.Store)
		check func(r result)
	}{
		"gone": {func(t *testing.T, store *memory.Store) {
			check.Must(t, store.Put(driver.Record{ID: recordID(t, theKey)}))
		}, func(r result) { r.notResumed("it is gone") }},
		"running":  {func(t *testing.T, store *memory.Store) { takeOver(t, store) }, func(r result) { r.is(idempotent.ErrInProgress).ended(idempotent.OutcomeConflict) }},
		"finished": {func(t *testing.T, store *memory.Store) { check.Must(t, store.Put(met(t, finished))) }, func(r result) { r.returned("theirs").ended(idempotent.OutcomeReplayed) }},
	} {
		t.Run(name, func(t *testing.T) {
			store := storing(t, lapsed)
			read := stored(t, store)
			test.since(t, store)
			before := stored(t, store)
			test.check(resumeWith(t, newExecutor(t, store, resumes()), read, theKey, mustNotRun(t)))
			check.Deep(t, stored(t, store), before)
		})
	}
	t.Run("taken over, and left behind again", func(t *testing.T) {
		store := storing(t, lapsed)
		read := stored(t, store)
		check.Must(t, store.Put(met(t, func(r *driver.Record) { lapsed(r); r.Owner, r.Attempt = "another", 2 })))
		resumeWith(t, newExecutor(t, store, resumes()), read, theKey, returns("ours")).returned("ours").ended(idempotent.OutcomeTakeover).attempt(3)
	})
}

// It is no key that it judges, but a record.
func TestResumedRecordIsNeverLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storing(t, lapsed)
		config := refusesLate()
		config.Resume = true
		late := theKey
		late.Issued = time.Now().Add(-2 * time.Hour)
		x := newExecutor(t, store, config)
		resumeWith(t, x, stored(t, store), late, returns("ours")).returned("ours").ended(idempotent.OutcomeTakeover)
		read := met(t, lapsed)
		check.Must(t, store.Put(driver.Record{ID: recordID(t, theKey)}))
		resumeWith(t, x, read, late, mustNotRun(t)).notResumed("it is gone")
	})
}
