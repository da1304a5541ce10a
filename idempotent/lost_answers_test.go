package idempotent_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

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

// Another library's takeover writes a whole new item, without owner and
// attempt.
func TestCommitLosesItsLeaseToAnotherLibrary(t *testing.T) {
	for name, test := range map[string]struct {
		lost bool
		want error
	}{
		"nothing was committed":  {false, idempotent.ErrLeaseLost},
		"an answer was lost too": {true, idempotent.ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBank()
			b.before = func(*entry) error {
				foreign := driver.Record{ID: recordID(t, theKey), Status: driver.InProgress, Lease: time.Now().Add(time.Hour)}
				if err := b.Put(foreign); err != nil || !test.lost {
					return err
				}
				test.lost = false
				return errNetwork
			}
			try(t.Context(), t, newExecutor(t, b, nil), books("x", nil)).is(test.want)
			b.holds(t)
		})
	}
}

// A transaction whose answer was lost may still be committed under a lease that
// is not known to have ended.
func TestRefusedCommitWhoseReleaseFailsIsUnknown(t *testing.T) {
	b := newBank()
	b.on = fails(isRelease, errCrash)
	failed := try(t.Context(), t, newExecutor(t, b, nil), books("x", errAgain)).ended(idempotent.OutcomeUnknown).executed()
	check.Equal(t, failed.Handler, errAgain)
}

var errAgain = errors.New("again")
