package idempotent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestCommitIsOneWriteWithTheCompletion(t *testing.T) {
	b := newBank()
	x := newExecutor(t, b, nil)
	try(t.Context(), t, x, func(ctx context.Context) (string, error) {
		check.Equal(t, book(ctx, "first"), book(ctx, "both"), "one call has two attachments")
		return "done", nil
	}).returned("done").roundTrips(2).ended(idempotent.OutcomeExecuted)
	try(t.Context(), t, x, mustNotRun(t)).returned("done").roundTrips(1)
	b.holds(t, "both")
}

// A rejected attachment counts as an error of the handler.
func TestCommitRefused(t *testing.T) {
	b := newBank()
	x := newExecutor(t, b, nil)
	try(t.Context(), t, x, books("x", errCrash)).fails(errCrash).ended(idempotent.OutcomeReleased)
	recordIs(t, b, "released") // and kept, as a transaction was sent
	refused := try(t.Context(), t, x, books("x", soldOut())).soldOut().ended(idempotent.OutcomeFailed)
	check.True(t, refused.event.Permanent)
	try(t.Context(), t, x, mustNotRun(t)).is(idempotent.ErrReplayed)
	b.holds(t)
}

func TestCommitMistakesAreNotSent(t *testing.T) {
	b := newBank()
	b.before = func(*entry) error { t.Error("it was sent"); return nil }
	try(t.Context(), t, newExecutor(t, b, nil), func(ctx context.Context) (string, error) {
		book(ctx, "x").sealErr = errCrash
		return "", nil
	}).fails(errCrash).ended(idempotent.OutcomeReleased)
}

// The store refuses the transaction, and no condition failed. A release with
// the same fence shows that nothing was written.
func TestCommitThatTheStoreRefusesIsRolledBack(t *testing.T) {
	b := newBank()
	b.before = func(*entry) error { return errCrash }
	try(t.Context(), t, newExecutor(t, b, nil), books("x", nil)).is(errCrash).ended(idempotent.OutcomeReleased).rolledBack()
	recordIs(t, b, "released")
	b.before = nil
	try(t.Context(), t, newExecutor(t, b, nil), books("x", nil)).returned("x")
	b.holds(t, "x")
}

func TestCommitWhoseReleaseIsRefusedTooIsUnknown(t *testing.T) {
	b := newBank()
	b.before = func(*entry) error { return errCrash }
	b.on = fails(isRelease, errCrash)
	try(t.Context(), t, newExecutor(t, b, nil), books("x", nil)).ended(idempotent.OutcomeUnknown).executed()
}

// A missing record does not tell whether the transaction was committed with it. One of
// another payload was created anew: this call's own may have been committed before.
// Another library's takeover writes a whole new item, without owner and attempt: if no
// answer was lost before, nothing was committed.
func TestCommitWhoseRecordIsGoneIsUnknown(t *testing.T) {
	foreign := driver.Record{Status: driver.InProgress, Lease: time.Now().Add(time.Hour)}
	for name, c := range map[string]struct {
		met  driver.Record
		lost bool // the answer before
		want error
	}{
		"gone":                      {driver.Record{}, false, idempotent.ErrOutcomeUnknown},
		"begun anew":                {driver.Record{Status: driver.InProgress, Owner: "another", Attempt: 1, Lease: time.Now().Add(time.Hour)}, false, idempotent.ErrOutcomeUnknown},
		"released, another payload": {driver.Record{Status: driver.InProgress, Attempt: 1, Lease: driver.LeaseEnded, Fingerprint: "another payload's"}, false, idempotent.ErrOutcomeUnknown},
		"claimed, another payload":  {driver.Record{Status: driver.InProgress, Owner: "another", Attempt: 5, Lease: time.Now().Add(time.Hour), Fingerprint: "another payload's"}, false, idempotent.ErrOutcomeUnknown},
		"another library's":         {foreign, false, idempotent.ErrLeaseLost},
		"and an answer was lost":    {foreign, true, idempotent.ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBank()
			c.met.ID = recordID(t, theKey)
			b.before = func(*entry) error {
				err := b.Put(c.met)
				if c.lost {
					c.lost, err = false, errNetwork
				}
				return err
			}
			r := try(t.Context(), t, newExecutor(t, b, nil), books("x", nil)).is(c.want)
			if c.want == idempotent.ErrOutcomeUnknown {
				check.Failed(t, check.As[*idempotent.OutcomeUnknownError](t, r.ended(idempotent.OutcomeUnknown).err).Err)
			}
			check.Differ(t, stored(t, b).Status, driver.Completed)
			b.holds(t)
		})
	}
}

// A failure after a transaction does not create the record anew.
func TestFailureAfterACommitRecreatesNothing(t *testing.T) {
	b := newBank()
	b.on = on(isCommit, func(write) (driver.Record, bool, error) {
		check.Nil(t, b.Put(driver.Record{ID: recordID(t, theKey)}))
		return driver.Record{}, false, &driver.Rejected{Err: soldOut()}
	})
	try(t.Context(), t, newExecutor(t, b, nil), books("x", nil)).is(idempotent.ErrOutcomeUnknown)
	check.Equal(t, stored(t, b).Status, driver.Absent)
}

func TestCommitAloneWhereNothingIsRecorded(t *testing.T) {
	b := newBank()
	call := func(refused error) error { return bypassed(t.Context(), t, b, books("x", refused)) }
	check.Nil(t, call(nil))
	check.Equal(t, call(errCrash), errCrash)
	b.before = func(*entry) error { return errCrash }
	err := call(nil)
	check.Is(t, err, idempotent.ErrOutcomeUnknown)
	check.Is(t, err, errCrash)
	b.holds(t, "x")
}

// A store should say why. The call must not succeed if it does not.
func TestRejectionWithoutAReasonFailsTheCall(t *testing.T) {
	b := newBank()
	b.before = func(*entry) error { b.before = nil; return &driver.Rejected{} }
	x := newExecutor(t, b, nil)
	_, event, err := do(t.Context(), x, books("x", nil))
	check.As[*driver.Rejected](t, err)
	check.Equal(t, event.Outcome, idempotent.OutcomeReleased)
	try(t.Context(), t, x, books("x", nil)).succeeded()
	b.holds(t, "x")
}

// An attempt does not count if the store says that the next one may be committed.
func TestRetryableRejectionIsNoAttempt(t *testing.T) {
	b := newBank()
	x := newExecutor(t, b, &idempotent.Config{MaxAttempts: 1})
	b.before = func(*entry) error { b.before = nil; return &driver.Rejected{Err: errCrash, Retryable: true} }
	try(t.Context(), t, x, books("x", nil)).fails(errCrash).ended(idempotent.OutcomeReleased)
	try(t.Context(), t, x, books("x", nil)).succeeded()
	b.holds(t, "x")
}

// Each of its tries, and of those that settle it, has the same error.
func TestErrorOfACommitSaysItsCauseOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBank()
		b.on = fails(isChange, errNetwork)
		failed := try(t.Context(), t, newExecutor(t, b, nil), books("x", nil)).executed()
		for _, cause := range []error{errNetwork, context.DeadlineExceeded} {
			check.Equal(t, strings.Count(failed.Error(), cause.Error()), 1, failed)
			check.Is(t, failed, cause)
		}
	})
}

// commits is a bank that decides on each commit without a record: it is made,
// unless its error says that nothing was written.
type commits struct {
	*bank
	errs []error
}

func (c *commits) Commit(ctx context.Context, id string, with any) error {
	err := c.errs[0]
	if len(c.errs) > 1 {
		c.errs = c.errs[1:]
	}
	if _, refused := err.(*driver.Rejected); refused || errors.Is(err, driver.ErrNotWritten) {
		return err
	}
	return errors.Join(c.bank.Commit(ctx, id, with), err)
}

// chargesAndBooks is a saga that charges and then books.
func chargesAndBooks(undone *int) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		_, err := idempotent.SagaStep(ctx, "charge", returns("x"), func(context.Context, string) error { *undone++; return nil })
		book(ctx, "transfer")
		return "done", err
	}
}

// bypassed calls without a key.
func bypassed(ctx context.Context, t *testing.T, store driver.Store, fn func(context.Context) (string, error)) error {
	t.Helper()
	x := newExecutor(t, store, &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	_, err := idempotent.Do(ctx, x, idempotent.Key{}, fn)
	return err
}

// The first copy was committed. The second is refused, which does not say so.
func TestBypassedSagaThatMayBeCommittedIsNotUndone(t *testing.T) {
	undone := 0
	store := &commits{newBank(), []error{errNetwork, &driver.Rejected{Err: soldOut()}}}
	err := bypassed(t.Context(), t, store, chargesAndBooks(&undone))
	check.Is(t, err, idempotent.ErrOutcomeUnknown)
	check.Equal(t, undone, 0)
	store.holds(t, "transfer")
}

func TestBypassedCommitThatWroteNothingIsRolledBack(t *testing.T) {
	store := &commits{newBank(), []error{driver.ErrNotWritten}}
	err := bypassed(t.Context(), t, store, books("x", nil))
	result{t: t, err: err}.rolledBack()
	store.holds(t)
}

// A transaction whose answer was lost may still be committed under a lease that
// is not known to have ended.
func TestRefusedCommitWhoseReleaseFailsIsUnknown(t *testing.T) {
	b := newBank()
	b.on = fails(isRelease, errCrash)
	r := try(t.Context(), t, newExecutor(t, b, nil), books("x", errAgain)).ended(idempotent.OutcomeUnknown)
	check.Equal(t, r.executed().Handler, errAgain)
	for _, err := range []error{r.err, r.event.Err} {
		check.Equal(t, strings.Count(err.Error(), "the handler ran"), 1, err)
		check.Is(t, err, errCrash)
	}
}

var errAgain = errors.New("again")
