package idempotent

import (
	"context"
	"errors"

	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// release releases the record after an error that permits a retry.
func (c *call) release(ctx context.Context, l *lease, cause error, refund bool) ending {
	cause = bare(cause)
	if l.optimistic {
		return ending{outcome: OutcomeReleased, err: cause} // there is no record
	}
	s := c.sendRelease(ctx, l, refund)
	switch s.Ruling {
	case protocol.TakeTheirs:
		c.tally.suppress(cause)
		return c.replaySuccessor(ctx, s.Met)
	case protocol.Yield:
		c.tally.suppress(cause)
		return ending{outcome: OutcomeLeaseLost, err: c.leaseLost(l)}
	}
	if l.committed && l.unreleased != nil {
		// Under a live lease a late copy of the transaction would be committed.
		cause = &StoreError{Op: "release", Executed: true, Err: l.unreleased, Handler: cause}
	}
	return ending{outcome: released(l, s), err: cause}
}

// released returns the outcome of a release.
func released(l *lease, s sent) Outcome {
	switch {
	case s.Ruling == protocol.TakeTheirs, s.Ruling == protocol.Yield:
		return OutcomeLeaseLost
	case l.unconfirmed:
		return OutcomeBypassed
	case s.Ruling == protocol.Unknown:
		return OutcomeUnknown
	default:
		return OutcomeReleased
	}
}

var errPanicked = errors.New("idempotent: the handler panicked")

// abandon releases the record during a panic.
func (c *call) abandon(ctx context.Context, l *lease) {
	c.tally.suppress(errPanicked)
	unacknowledged, stopped := l.frame.steps.unacknowledged(), l.frame.steps.stoppedBy()
	switch {
	case c.isOver(ctx, errPanicked):
		c.abandoned = OutcomeSuspended
	case l.optimistic:
		c.abandoned = OutcomeReleased
	case unacknowledged != nil:
		c.abandoned = OutcomeUnknown
		c.tally.suppress(unacknowledged)
	case stopped != nil && l.frame.steps.failed == nil:
		// No later attempt could undo it. A panic of the undo returns here.
		e := c.failForGood(ctx, l, stopped)
		if c.abandoned = e.outcome; e.err != nil {
			c.tally.suppress(e.err)
		}
	default:
		c.abandoned = released(l, c.sendRelease(ctx, l, false))
	}
}

// keepClaimed ends a run with a finished step that may not be recorded. It does
// not release the record: the next attempt would repeat the step while the
// write may still arrive.
func (c *call) keepClaimed(unacknowledged *StoreError, cause error) ending {
	failed := *unacknowledged
	if cause = bare(cause); cause != error(unacknowledged) {
		failed.Handler = cause
	}
	return ending{outcome: OutcomeUnknown, err: &failed}
}
