package idempotent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// commit completes the record together with what the handler has attached:
// success is the commit, and not the handler's return. Either all is written
// or nothing, so that, unlike a completion, it leaves a record that is no
// longer ours to others, and recreates none.
//
// A refusal of the attachment itself is answered for the same rules as an
// error of the handler.
func (c *call) commit(ctx context.Context, h *hold, with driver.Attachment) (*driver.Rejected, ending) {
	end := c.committed(ctx, h, with)
	h.sent = true
	limited, cancel := c.committing(ctx, h)
	defer cancel()
	s := c.x.repeat(limited, write{
		policy: &committing, own: h.record,
		wrote: func(met driver.Record) bool { return wrote(met, h, end) },
		send:  func(ctx context.Context, _ ruling, _ driver.Record) reply { return c.tryChange(ctx, h, end) },
	})
	var refused *driver.Rejected
	switch {
	case s.ruling == rejected && errors.As(s.err, &refused):
		return refused, ending{}
	case s.ok:
		return nil, c.recorded(h, c.written(h, end, s.met))
	}
	cause := s.err
	if s.ruling == unknown {
		s = c.settleCommit(ctx, h, end, s.unacknowledged)
	}
	return nil, c.endCommit(ctx, h, s, cause)
}

// committing leaves a third of the time that there is for finding out what
// became of a commit whose answer was lost.
func (c *call) committing(ctx context.Context, h *hold) (context.Context, context.CancelFunc) {
	all, cancel := c.finishing(ctx, h)
	deadline, _ := all.Deadline()
	limited, stop := context.WithDeadline(all, deadline.Add(-time.Until(deadline)/3))
	return limited, func() { stop(); cancel() }
}

// settleCommit decides a commit whose outcome is not known, with a release that
// is fenced as it was: one of the two comes too late.
func (c *call) settleCommit(ctx context.Context, h *hold, end driver.Change, unacknowledged bool) sent {
	ctx, cancel := c.finishing(ctx, h)
	defer cancel()
	s := c.x.repeat(ctx, write{
		policy: &settling, own: h.record, unacknowledged: unacknowledged,
		wrote: func(met driver.Record) bool { return wrote(met, h, end) },
		send: func(ctx context.Context, _ ruling, _ driver.Record) reply {
			return c.tryChange(ctx, h, driver.Change{Release: driver.ReleaseKeep})
		},
	})
	if s.ok {
		s.ruling = notWritten // the release came first
	}
	return s
}

// endCommit ends a commit that its own answer has not decided.
func (c *call) endCommit(ctx context.Context, h *hold, s sent, cause error) ending {
	switch s.ruling {
	case done:
		return c.recorded(h, s.met)
	case takeTheirs:
		return c.answerLate(ctx, s.met)
	case vanished:
		// It may have been committed, and the record removed since.
		return c.outcomeUnknown(errors.Join(errRecordGone, cause))
	case notWritten:
		return c.nothingCommitted(cause)
	case yield:
		return c.leaseLost(h)
	default:
		return ending{OutcomeUnknown, &StoreError{Op: "commit", Executed: true, Err: errors.Join(cause, s.err)}}
	}
}

var errRecordGone = errors.New("its record is gone; check what was done before you retry")

func (c *call) nothingCommitted(cause error) ending {
	if cause == nil {
		cause = fmt.Errorf("%w: another attempt held the record", driver.ErrUnavailable)
	}
	return ending{OutcomeReleased, &StoreError{Op: "commit", RolledBack: true, Err: cause}}
}

// committed is the change that completes the record with an attachment. It is
// built once: what is sent again must be the same to the last bit. A codec
// that ends the goroutine leaves nothing done.
func (c *call) committed(ctx context.Context, h *hold, with driver.Attachment) driver.Change {
	end := c.encoded(ctx, h, func(driver.Change) { c.abandoned = released(h, c.sendRelease(ctx, h, false)) })
	end.Expires, end.With = c.x.expiresFinished(wall(c.look())), with
	return end
}

// written is the record that a finishing write has left, as its answer says.
func (c *call) written(h *hold, end driver.Change, answer driver.Record) driver.Record {
	r := c.finishedRecord(h, end)
	if answer.Unavailable != "" {
		r.Data, r.Payload, r.Unavailable = nil, "", answer.Unavailable
	}
	return r
}

// recorded ends a call whose own result is recorded.
func (c *call) recorded(h *hold, r driver.Record) ending {
	c.share(r)
	if r.Unavailable != "" {
		c.passOver(&ResultUnavailableError{KeyHash: c.hash, Reason: r.Unavailable})
	}
	return ending{h.ran(), nil}
}
