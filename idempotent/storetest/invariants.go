package storetest

import (
	"errors"
	"fmt"

	"github.com/lambda-once/once/idempotent/driver"
)

// oneOwner checks the first invariant: the store has not confirmed a lease to
// two callers at the same time.
func (w *world) oneOwner() error {
	for _, c := range w.callers {
		if c.phase != owning || c.until.Before(w.now) {
			return nil
		}
	}
	return fmt.Errorf("two live owners at %s: until %s and %s",
		stamp(w.now), stamp(w.callers[0].until), stamp(w.callers[1].until))
}

// lawful checks the effect of one write on a record. It compares records and ignores
// conditions, so that it notices a mistake that the model and a store share.
func lawful(before, after driver.Record, w write) error {
	gone := before.Status == driver.Absent || w.op == opCreate && before.Expired(w.cutoff)
	switch {
	case equal(before, after):
		return nil
	case gone:
		// Any new record is allowed.
	case before.Status != driver.InProgress:
		return errors.New("a finished record has changed")
	case w.op == opCreate || w.op == opRecreate:
		return errors.New("a record was written over a live one")
	case w.fence.Owner != before.Owner:
		return fmt.Errorf("a record of %q was changed by %q", before.Owner, w.fence.Owner)
	case w.op == opDelete && len(before.Steps) > 0:
		return errors.New("finished steps were forgotten")
	case w.op == opDelete:
	case w.op == opTakeOver && after.Attempt <= max(before.Attempt, 1):
		return fmt.Errorf("a takeover went from attempt %d to %d", before.Attempt, after.Attempt)
	case w.op == opTakeOver && !before.Lapsed(w.cutoff):
		return fmt.Errorf("a lease until %s was taken over at %s", stamp(before.Lease), stamp(w.cutoff))
	case w.op != opTakeOver && after.Attempt != before.Attempt:
		return errors.New("the attempt has changed without a takeover")
	case w.op == opExtend && !before.Lease.Before(after.Lease):
		return errors.New("a heartbeat has moved the lease back")
	}
	if after.Refunds > max(after.Attempt, 0) {
		return fmt.Errorf("%d refunds for %d attempts", after.Refunds, after.Attempt)
	}
	return nil
}
