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
	"github.com/lambda-once/once/internal/check"
)

// met is a record of theKey for a table of what a read may meet.
func met(t *testing.T, change func(r *driver.Record)) driver.Record {
	t.Helper()
	r := driver.Record{ID: recordID(t, theKey), Status: driver.InProgress, Owner: "other", Attempt: 1,
		Lease: time.Now().Add(time.Minute), Expires: time.Now().Add(time.Hour)}
	change(&r)
	return r
}

// storing is a store with such a record.
func storing(t *testing.T, change func(r *driver.Record)) *memory.Store {
	t.Helper()
	store := memory.New(0)
	check.Must(t, store.Put(met(t, change)))
	return store
}

func finished(r *driver.Record) {
	r.Status, r.Lease, r.Data = driver.Completed, time.Time{}, []byte(`"theirs"`)
}

func lapsed(r *driver.Record) { r.Lease = time.Now().Add(-time.Minute) }

// expired is over: it must not be replayed.
func expired(r *driver.Record) {
	finished(r)
	r.Expires = time.Now().Add(-time.Minute)
}

// A meeting is a call that meets a record, and books something if it runs.
type meeting struct {
	config       idempotent.Config
	meets        func(*driver.Record) // nil: nothing
	value        string
	err          error
	outcome      idempotent.Outcome
	reads, tries int
}

// plays makes the call with a key that was issued some time ago.
func (m meeting) plays(t *testing.T, ago time.Duration) {
	b := newBank()
	if m.meets != nil {
		check.Must(t, b.Put(met(t, m.meets)))
	}
	before := stored(t, b.Store)
	ran := false
	tryIssued(t.Context(), t, newExecutor(t, b, &m.config), ago, func(ctx context.Context) (string, error) {
		ran = true
		return books("ours", nil)(ctx)
	}).with(m.value).is(m.err).ended(m.outcome).roundTrips(m.reads + m.tries)
	check.Equal(t, ran, m.value == "ours")
	check.Equal(t, len(b.booked) == 1, ran)
	check.Equal(t, b.reads, m.reads)
	check.Equal(t, b.tries, m.tries)
	if !ran {
		check.Deep(t, stored(t, b.Store), before)
	}
}

// A later duplicate of an optimistic call does not run in vain if it reads first.
func TestReadFirst(t *testing.T) {
	once, unclaimed := idempotent.Config{MaxAttempts: 1}, idempotent.Config{Optimistic: true}
	for name, test := range map[string]meeting{
		"a first call claims":                   {value: "ours", outcome: idempotent.OutcomeExecuted, reads: 1, tries: 2},
		"a finished call is replayed":           {meets: finished, value: "theirs", outcome: idempotent.OutcomeReplayed, reads: 1},
		"a finished one is replayed, never run": {config: once, meets: finished, value: "theirs", outcome: idempotent.OutcomeReplayed, reads: 1},
		"a running call is in progress":         {meets: func(*driver.Record) {}, err: idempotent.ErrInProgress, outcome: idempotent.OutcomeConflict, reads: 1},
		"another payload is refused": {meets: func(r *driver.Record) { finished(r); r.Fingerprint = "another" },
			err: idempotent.ErrKeyReused, outcome: idempotent.OutcomeMismatch, reads: 1},
		"no attempt is left":         {config: once, meets: lapsed, err: idempotent.ErrOutcomeUnknown, outcome: idempotent.OutcomeUnknown, reads: 1},
		"a lapsed call is continued": {meets: lapsed, value: "ours", outcome: idempotent.OutcomeTakeover, reads: 1, tries: 2},
		"an expired one is replaced": {meets: expired, value: "ours", outcome: idempotent.OutcomeExecuted, reads: 1, tries: 2},
		"an unknown status is refused": {meets: func(r *driver.Record) { r.Status = "PAUSED" },
			err: idempotent.ErrStore, outcome: idempotent.OutcomeFailed, reads: 1},
		"optimistic, a first call commits":         {config: unclaimed, value: "ours", outcome: idempotent.OutcomeExecuted, reads: 1, tries: 1},
		"optimistic, a finished call is replayed":  {config: unclaimed, meets: finished, value: "theirs", outcome: idempotent.OutcomeReplayed, reads: 1},
		"optimistic, a running one is in progress": {config: unclaimed, meets: func(*driver.Record) {}, err: idempotent.ErrInProgress, outcome: idempotent.OutcomeConflict, reads: 1},
		"optimistic, another payload is refused": {config: unclaimed, meets: func(r *driver.Record) { finished(r); r.Fingerprint = "another" },
			err: idempotent.ErrKeyReused, outcome: idempotent.OutcomeMismatch, reads: 1},
		"optimistic, a lapsed call is claimed":   {config: unclaimed, meets: lapsed, value: "ours", outcome: idempotent.OutcomeTakeover, reads: 2, tries: 2},
		"optimistic, an expired one is replaced": {config: unclaimed, meets: expired, value: "ours", outcome: idempotent.OutcomeExecuted, reads: 1, tries: 1},
	} {
		t.Run(name, func(t *testing.T) {
			test.config.ReadFirst = true
			test.plays(t, 0)
		})
	}
}

var errDenied = errors.New("AccessDenied: dynamodb:GetItem")

// A read that fails decides nothing, whatever is wrong: the claim follows, or the
// transaction's own condition.
func TestReadFirstThatFailsLeavesTheCallToTheClaim(t *testing.T) {
	for _, failure := range []error{errNetwork, errDenied} {
		failing := func(context.Context) (driver.Record, error) {
			// What comes with an error is no record.
			return driver.Record{Status: driver.Completed, Data: []byte(`"?"`), Expires: time.Now().Add(time.Hour)}, failure
		}
		for _, config := range []idempotent.Config{{}, {OnStoreError: idempotent.FailOpen}, {Optimistic: true}} {
			b := newBank()
			b.get = failing
			config.ReadFirst = true
			x := newExecutor(t, b, &config)
			try(t.Context(), t, x, books("ours", nil)).returned("ours").ended(idempotent.OutcomeExecuted).observed(failure).observed(idempotent.ErrStore)
			again := mustNotRun(t)
			if config.Optimistic {
				again = books("again", nil) // and is rolled back
			}
			try(t.Context(), t, x, again).returned("ours").ended(idempotent.OutcomeReplayed).observed(failure)
			b.holds(t, "ours")
		}
	}
}

// A store that is down fails the claim as well, and the observer sees both.
func TestReadFirstThatFailsBeforeTheClaimFails(t *testing.T) {
	down := hooked(memory.New(0), fails(isCreate, errDenied))
	down.get = hungGet
	synctest.Test(t, func(t *testing.T) {
		r := try(t.Context(), t, newExecutor(t, down, &idempotent.Config{ReadFirst: true}), mustNotRun(t)).is(errDenied).observed(driver.ErrUnavailable)
		check.False(t, errors.Is(r.err, driver.ErrUnavailable))
	})
}

// A read that hangs leaves time to claim and to run.
func TestReadFirstIsBounded(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for invocation, want := range map[time.Duration]time.Duration{
		15 * time.Minute: 5 * time.Second,
		4 * time.Second:  2 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			x := newExecutor(t, silent{gets: true}.over(memory.New(0)), &idempotent.Config{ReadFirst: true, Wait: time.Hour})
			try(during(t, invocation), t, x, func(context.Context) (string, error) {
				check.Equal(t, time.Since(begun), want, invocation)
				return "", nil
			}).succeeded()
		})
	}
}

// A call whose context ends while it reads claims nothing.
func TestReadFirstEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("the client has gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(gone) })
		for _, optimistic := range []bool{false, true} {
			b := newBank()
			b.get = hungGet
			x := newExecutor(t, b, &idempotent.Config{ReadFirst: true, Optimistic: optimistic})
			try(ctx, t, x, mustNotRun(t)).is(gone).is(idempotent.ErrStore)
			check.Equal(t, b.tries, 0)
		}
	})
}

func TestReadFirstReadsNothingForTheCache(t *testing.T) {
	c := hooked(newBank(), nil)
	x := newExecutor(t, c, &idempotent.Config{ReadFirst: true, CacheEntries: 1})
	for range 2 {
		try(t.Context(), t, x, returns("ours")).returned("ours")
	}
	check.Equal(t, c.reads, 1)
	check.Equal(t, c.tries, 2)
}
