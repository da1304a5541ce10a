package idempotent

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// commit completes the record together with what the handler has attached:
// success is the commit, and not the handler's return. Either all is written
// or nothing, so that, unlike a completion, it leaves a record that is no
// longer ours to others, and recreates none.
//
// A refusal of the attachment itself is answered for the same rules as an
// error of the handler.
func (c *call) commit(ctx context.Context, h *hold, with Attachment) (*Rejected, error) {
	end := c.committed(ctx, h, with)
	h.sent = true
	limited, cancel := c.committing(ctx, h)
	defer cancel()
	unacknowledged := false
	for try := 1; ; try++ {
		met, ok, err := c.try(limited, func(ctx context.Context) (Record, bool, error) {
			return c.change(ctx, Fence{ID: c.id, Owner: h.record.Owner}, end)
		})
		var refused *Rejected
		switch {
		case errors.As(err, &refused):
			return refused, nil
		case ok:
			c.recorded(h, c.written(h, end, met))
			return nil, nil
		case err == nil:
			if ours := met.Status == InProgress && met.Owner == h.record.Owner; !ours {
				return nil, c.notOurs(ctx, h, end, met, unacknowledged, nil)
			}
		default:
			unacknowledged = unacknowledged || !errors.Is(err, ErrNotWritten)
			if try >= maxReleases && !errors.Is(err, ErrUnavailable) {
				return nil, c.settleCommit(ctx, h, end, unacknowledged, err)
			}
		}
		if limited.Err() != nil {
			return nil, c.settleCommit(ctx, h, end, unacknowledged, errors.Join(err, context.Cause(limited)))
		}
		c.rest(limited, backoff(try))
	}
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
func (c *call) settleCommit(ctx context.Context, h *hold, end Change, unacknowledged bool, cause error) error {
	ctx, cancel := c.finishing(ctx, h)
	defer cancel()
	for try := 1; ; try++ {
		met, ok, err := c.try(ctx, func(ctx context.Context) (Record, bool, error) {
			return c.change(ctx, Fence{ID: c.id, Owner: h.record.Owner}, Change{Release: ReleaseKeep})
		})
		switch {
		case ok:
			return c.nothingCommitted(cause)
		case err == nil && (met.Status != InProgress || met.Owner != h.record.Owner):
			return c.notOurs(ctx, h, end, met, unacknowledged, cause)
		case ctx.Err() != nil, try >= maxReleases && !errors.Is(err, ErrUnavailable):
			c.event.Outcome = OutcomeUnknown
			return &StoreError{Op: "commit", Executed: true, Err: errors.Join(cause, err)}
		}
		c.rest(ctx, backoff(try))
	}
}

// notOurs ends a commit whose record was met in other hands, or finished.
// unacknowledged says that the answer to an earlier copy of the commit was lost.
func (c *call) notOurs(ctx context.Context, h *hold, end Change, met Record, unacknowledged bool, cause error) error {
	over := wall(c.now).Add(-c.x.config.ClockSkew)
	switch decideEnd(met, h.record, over) {
	case keepTheir:
		if wrote(met, h, end) {
			c.recorded(h, met)
			return nil
		}
		c.share(met)
		return c.answerLate(ctx, met)
	case recreate:
		// It may have been committed, and the record removed since.
		return c.outcomeUnknown(errors.Join(errRecordGone, cause))
	}
	released := met.Owner == "" && met.Lease.Equal(LeaseEnded)
	foreign := met.Owner == "" && !released // another library's takeover
	switch {
	case met.Fingerprint != "" && c.fingerprint != "" && met.Fingerprint != c.fingerprint,
		met.Owner != "" && met.Attempt <= h.record.Attempt,
		released && met.Attempt < h.record.Attempt,
		foreign && unacknowledged:
		// No successor of ours: a record that was begun anew. Another library
		// counts no attempts, so that only answers say what was committed.
		return c.outcomeUnknown(errors.Join(errRecordGone, cause))
	case released:
		// A release landed, ours or that of a successor.
		return c.nothingCommitted(cause)
	}
	c.event.Outcome = OutcomeLeaseLost
	return &LeaseLostError{KeyHash: c.hash, Attempt: h.record.Attempt}
}

var errRecordGone = errors.New("its record is gone; check what was done before you retry")

func (c *call) nothingCommitted(cause error) error {
	c.event.Outcome = OutcomeReleased
	if cause == nil {
		cause = fmt.Errorf("%w: another attempt held the record", ErrUnavailable)
	}
	return &StoreError{Op: "commit", RolledBack: true, Err: cause}
}

func (c *call) outcomeUnknown(cause error) error {
	c.event.Outcome = OutcomeUnknown
	return &OutcomeUnknownError{KeyHash: c.hash, Err: cause}
}

// committed is the change that completes the record with an attachment. It is
// built once: what is sent again must be the same to the last bit. A codec
// that ends the goroutine leaves nothing done.
func (c *call) committed(ctx context.Context, h *hold, with Attachment) Change {
	end := c.encoded(ctx, h, func(Change) { c.giveUp(ctx, h, false) })
	end.Expires, end.With = c.x.expiresFinished(wall(c.look())), with
	return end
}

// written is the record that a finishing write has left, as its answer says.
func (c *call) written(h *hold, end Change, answer Record) Record {
	r := c.finishedRecord(h, end)
	if answer.Unavailable != "" {
		r.Data, r.Payload, r.Unavailable = nil, "", answer.Unavailable
	}
	return r
}

// recorded ends a call whose own result is recorded.
func (c *call) recorded(h *hold, r Record) {
	c.share(r)
	c.event.Outcome = h.ran()
	if r.Unavailable != "" {
		c.passOver(&ResultUnavailableError{KeyHash: c.hash, Reason: r.Unavailable})
	}
}
