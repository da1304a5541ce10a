package idempotent

import (
	"context"
	"errors"
	"fmt"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// commit completes the record and the handler's writes in one transaction:
// success is the commit, and not the handler's return. Unlike a completion, it
// leaves a record that is no longer ours, and recreates none. It returns a
// rejected attachment, to be settled like an error of the handler.
func (c *call) commit(ctx context.Context, l *lease, with driver.Attachment) (*driver.Rejected, conclusion) {
	change := c.committed(ctx, l, with)
	l.committed = true
	s := c.sendCommit(ctx, l, change)
	var refused *driver.Rejected
	switch {
	case s.Ruling == protocol.Rejected && errors.As(s.Err, &refused):
		return refused, conclusion{}
	case s.OK:
		return nil, c.recorded(l, s.Met)
	}
	cause := s.Err
	switch {
	case s.Ruling != protocol.Unknown:
	case c.isOver(ctx):
		// The next invocation has the same fence, and finds out.
		return nil, conclusion{outcome: OutcomeSuspended, err: &StoreError{Op: "commit", Executed: true, Err: cause}}
	default:
		s = c.settleCommit(ctx, l, change, s.unacknowledged)
	}
	return nil, c.commitDecided(ctx, l, s, cause)
}

// rejection returns the error of a rejected attachment as one of the handler.
func rejection(r *driver.Rejected) error {
	err := r.Err
	if err == nil {
		err = r // a store without a reason must not turn into a success
	}
	if r.Retryable {
		return Retryable(err)
	}
	return err
}

// commitDecided ends a commit that its own answer did not decide.
func (c *call) commitDecided(ctx context.Context, l *lease, s sent, cause error) conclusion {
	switch s.Ruling {
	case protocol.Done:
		return c.recorded(l, s.Met)
	case protocol.TakeTheirs:
		return c.replaySuccessor(ctx, s.Met)
	case protocol.Vanished:
		// It may have been committed, and the record removed since.
		return c.outcomeUnknown(errors.Join(errRecordGone, cause))
	case protocol.NotWritten:
		return nothingCommitted(cause)
	case protocol.Yield:
		return conclusion{outcome: OutcomeLeaseLost, err: c.leaseLost(l)}
	default:
		return conclusion{outcome: OutcomeUnknown, err: &StoreError{Op: "commit", Executed: true, Err: errors.Join(cause, s.Err)}}
	}
}

var errRecordGone = errors.New("its record is gone; check what was done before you retry")

func nothingCommitted(cause error) conclusion {
	if cause == nil {
		cause = fmt.Errorf("%w: another attempt owned the record", driver.ErrUnavailable)
	}
	return conclusion{outcome: OutcomeReleased, err: &StoreError{Op: "commit", RolledBack: true, Err: cause}}
}

// committed returns the change that completes the record with an attachment. It
// is built once, because a repeated request must be the same to the last bit.
// If the codec exits the goroutine, the record is released.
func (c *call) committed(ctx context.Context, l *lease, with driver.Attachment) driver.Change {
	change := c.completion(ctx, l, func(driver.Change) {
		l.frame.discard() // the release must not wait for what it holds
		c.abandoned = released(l, c.sendRelease(ctx, l, false))
	})
	change.Expires, change.With = c.x.times.ExpiresFinished(c.look()), with
	return change
}
