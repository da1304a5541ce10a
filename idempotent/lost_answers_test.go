package idempotent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
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
	var failed *idempotent.StoreError
	if !errors.As(err, &failed) || !failed.RolledBack || failed.Executed {
		t.Errorf("%v", err)
	}
	store.holds(t)
}

// refusesSecond loses the answer to the first write with an attachment, and
// refuses the others.
type refusesSecond struct {
	*bank
	tries int
}

func (s *refusesSecond) Create(context.Context, driver.Record, time.Time, any) (driver.Record, bool, error) {
	if s.tries++; s.tries == 1 {
		return driver.Record{}, false, errNetwork
	}
	return driver.Record{}, false, &driver.Rejected{Err: soldOut()}
}

// The store is unreachable for a while after the last copy of the transaction
// was sent.
func TestCommitIsSettledUntilTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBank()
		b.before = func(*entry) error { return errNetwork }
		var away time.Time
		p := &settling{bank: b, change: func(c driver.Change) error {
			if c.Release == 0 {
				return nil
			}
			if away.IsZero() {
				away = time.Now().Add(5 * time.Second)
			}
			if time.Now().Before(away) {
				return errNetwork
			}
			return nil
		}}
		_, event, err := do(t.Context(), newExecutor(t, p, nil), books("x", nil))
		var failed *idempotent.StoreError
		if !errors.As(err, &failed) || !failed.RolledBack || event.Outcome != idempotent.OutcomeReleased {
			t.Errorf("%v, %+v", err, event)
		}
	})
}

// A call that has sent a transaction reclaims its record before it undoes.
func TestUndoingBeginsAfterAnUnacknowledgedReclaim(t *testing.T) {
	for name, landed := range map[string]bool{"landed": true, "not sent": false} {
		t.Run(name, func(t *testing.T) {
			b, undone, lost := newBank(), 0, 0
			store := &reclaiming{bank: b, landed: landed, lost: &lost}
			_, event, err := do(t.Context(), newExecutor(t, store, nil), func(ctx context.Context) (string, error) {
				value, err := chargesAndBooks(&undone)(ctx)
				book(ctx, "transfer").refused = soldOut()
				return value, err
			})
			if _, ok := err.(*soldOutError); !ok || undone != 1 || lost != 2 || event.Outcome != idempotent.OutcomeFailed {
				t.Errorf("undone %d times, lost %d: %v, %+v", undone, lost, err, event)
			}
			r := stored(t, b)
			check.Equal(t, r.Status, driver.Failed)
			check.Equal(t, r.Used(), 1)
		})
	}
}

// reclaiming loses the answers to the first reclaims.
type reclaiming struct {
	*bank
	landed bool
	lost   *int
}

func (s *reclaiming) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if c.Owner == "" || c.Status != driver.Absent || *s.lost == 2 {
		return s.bank.Change(ctx, f, c)
	}
	*s.lost++
	if s.landed {
		if _, _, err := s.bank.Change(ctx, f, c); err != nil {
			return driver.Record{}, false, err
		}
	}
	return driver.Record{}, false, errNetwork
}

// Such a record was created anew: this call's own may have been committed
// before.
func TestCommitThatMeetsAnotherPayloadIsUnknown(t *testing.T) {
	for name, met := range map[string]driver.Record{
		"released": {Attempt: 1, Lease: driver.LeaseEnded},
		"claimed":  {Attempt: 5, Lease: time.Now().Add(time.Hour), Owner: "another"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBank()
			b.before = func(*entry) error {
				met.ID, met.Status, met.Fingerprint = recordID(t, theKey), driver.InProgress, "another payload's"
				return b.Put(met)
			}
			try(t.Context(), t, newExecutor(t, b, nil), books("x", nil)).is(idempotent.ErrOutcomeUnknown).ended(idempotent.OutcomeUnknown)
		})
	}
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
	deaf := &settling{bank: b, change: refusesReleases}
	_, event, err := do(t.Context(), newExecutor(t, deaf, nil), books("x", errAgain))
	var failed *idempotent.StoreError
	if !errors.As(err, &failed) || !failed.Executed || failed.Handler != errAgain || event.Outcome != idempotent.OutcomeUnknown {
		t.Errorf("%v, %+v", err, event)
	}
}

var errAgain = errors.New("again")
