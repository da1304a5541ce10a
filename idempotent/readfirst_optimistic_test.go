package idempotent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// A later duplicate of an optimistic call does not run in vain if it reads
// first.
func TestReadFirstOptimistic(t *testing.T) {
	for name, test := range map[string]struct {
		meets        func(*driver.Record) // nil: nothing
		value        string
		err          error
		outcome      idempotent.Outcome
		reads, tries int
		booked       []string
	}{
		"a first call commits": {value: "ours", outcome: idempotent.OutcomeExecuted,
			reads: 1, tries: 1, booked: []string{"ours"}},
		"a finished call is replayed": {meets: finished, value: "theirs", outcome: idempotent.OutcomeReplayed, reads: 1},
		"a running call is in progress": {meets: func(*driver.Record) {}, err: idempotent.ErrInProgress,
			outcome: idempotent.OutcomeConflict, reads: 1},
		"another payload is refused": {meets: func(r *driver.Record) { finished(r); r.Fingerprint = "another" },
			err: idempotent.ErrKeyReused, outcome: idempotent.OutcomeMismatch, reads: 1},
		"a lapsed call is continued under a claim": {meets: lapsed, value: "ours", outcome: idempotent.OutcomeTakeover,
			reads: 2, tries: 2, booked: []string{"ours"}},
		"an expired one is replaced": {meets: expired, value: "ours", outcome: idempotent.OutcomeExecuted,
			reads: 1, tries: 1, booked: []string{"ours"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBank()
			if test.meets != nil {
				check.Must(t, b.Put(met(t, test.meets)))
			}
			ran := false
			try(t.Context(), t, newExecutor(t, b, &idempotent.Config{Optimistic: true, ReadFirst: true}), func(ctx context.Context) (string, error) {
				ran = true
				return books("ours", nil)(ctx)
			}).with(test.value).is(test.err).ended(test.outcome)
			check.Equal(t, ran, (test.booked != nil))
			check.Equal(t, b.reads, test.reads)
			check.Equal(t, b.tries, test.tries)
			b.holds(t, test.booked...)
		})
	}
}

// The transaction's own condition decides where the read has failed.
func TestReadFirstOptimisticThatFails(t *testing.T) {
	b := newBank()
	b.get = func(context.Context) (driver.Record, error) { return driver.Record{}, errNetwork }
	x := newExecutor(t, b, &idempotent.Config{Optimistic: true, ReadFirst: true})
	for _, outcome := range []idempotent.Outcome{idempotent.OutcomeExecuted, idempotent.OutcomeReplayed} {
		try(t.Context(), t, x, books("ours", nil)).returned("ours").ended(outcome).observed(errNetwork)
	}
	b.holds(t, "ours")
}

func TestReadFirstOptimisticWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBank()
		done := inBackground(t, newExecutor(t, b, nil), 10*time.Second, "theirs", nil)
		x := newExecutor(t, b, &idempotent.Config{Optimistic: true, ReadFirst: true, Wait: time.Minute})
		try(t.Context(), t, x, mustNotRun(t)).returned("theirs").ended(idempotent.OutcomeReplayed)
		<-done
	})
}
