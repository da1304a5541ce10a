package idempotent

import (
	"bytes"
	"context"
	"errors"
	"time"
)

// complete records the result of a handler that succeeded. Nothing is released
// from here on: the work is done.
func (c *call) complete(ctx context.Context, h *hold) error {
	end := Change{Status: Completed}
	data, err := c.work.encode()
	if err != nil {
		end.Unavailable = "the result could not be encoded"
		c.passedOver = &ResultUnavailableError{KeyHash: c.hash, Reason: end.Unavailable, Err: err}
	} else {
		end.Data = data
	}
	stored, err := c.finish(ctx, h, end)
	switch {
	case err != nil:
		return c.notRecorded(h, "complete", err, nil)
	case wrote(stored, h, end):
		c.event.Outcome = h.ran()
		return nil
	default:
		return c.answerLate(stored)
	}
}

// fail records a permanent error.
func (c *call) fail(ctx context.Context, h *hold, cause error) error {
	data, err := encodeFailure(cause)
	if err != nil {
		return c.notRecorded(h, "fail", err, unmarked(cause))
	}
	end := Change{Status: Failed, Data: data}
	stored, err := c.finish(ctx, h, end)
	switch {
	case err != nil:
		return c.notRecorded(h, "fail", err, unmarked(cause))
	case wrote(stored, h, end):
		c.event.Outcome = OutcomeFailed
		if h.open {
			c.event.Outcome = OutcomeBypassed
		}
		return unmarked(cause)
	default:
		return c.answerLate(stored)
	}
}

// answerLate gives the caller of a run that lost its lease what the record now
// holds: all callers get one answer.
func (c *call) answerLate(stored Record) error {
	err := c.decode(stored)
	c.event.Outcome = OutcomeLeaseLost
	return err
}

// notRecorded is the end of a run whose record could not be finished.
func (c *call) notRecorded(h *hold, op string, err, handler error) error {
	if lost, ok := err.(*LeaseLostError); ok {
		c.event.Outcome = OutcomeLeaseLost
		return lost
	}
	failed := &StoreError{Op: op, Executed: true, Err: err, Handler: handler}
	if h.open {
		c.event.Outcome, c.passedOver = OutcomeBypassed, failed
		return handler
	}
	c.event.Outcome = OutcomeUnknown
	return failed
}

// wrote reports whether the finished record is this call's own work. One that
// carries our token is not enough: a writer that knows no fence may have
// changed its result, and all callers must get the same.
func wrote(stored Record, h *hold, end Change) bool {
	return stored.Owner == h.record.Owner && stored.Status == end.Status &&
		(stored.Unavailable != "" || end.Unavailable == "" && bytes.Equal(stored.Data, end.Data))
}

// maxRefusals bounds the tries of a write that the store refuses, as against
// one that it cannot be reached for.
const maxRefusals = 3

// finish ends the record with a write that is fenced by the owner, as often as
// needed, and answers the record as it then is. What else may be written when
// the record is no longer ours is decideEnd's business.
func (c *call) finish(ctx context.Context, h *hold, end Change) (Record, error) {
	ctx, cancel := c.finishing(ctx, h)
	defer cancel()
	write := c.finishOwn(h)
	for try := 1; ; try++ {
		end.Expires = c.x.expiresFinished(wall(c.look()))
		met, ok, err := c.try(ctx, func(ctx context.Context) (Record, bool, error) { return write(ctx, end) })
		switch {
		case err != nil:
			if ctx.Err() != nil || h.open || try >= maxRefusals && !errors.Is(err, ErrUnavailable) {
				return Record{}, err
			}
		case ok:
			written := c.finishedRecord(h, end)
			if met.Unavailable != "" {
				written.Data, written.Unavailable = nil, met.Unavailable
			}
			c.share(written)
			return written, nil
		default:
			switch decideEnd(met, h.record.Owner) {
			case keepTheir:
				c.share(met)
				return met, nil
			case yieldIt:
				return Record{}, &LeaseLostError{KeyHash: c.hash, Attempt: h.record.Attempt}
			case tryAgain:
				write = c.finishOwn(h)
			case adoptIt:
				write = c.finishAbandoned(h, met)
			case recreate:
				write = c.finishVanished(h)
			}
			if ctx.Err() != nil {
				return Record{}, context.Cause(ctx)
			}
		}
		jitter(ctx, min(time.Duration(try)*20*time.Millisecond, time.Second))
	}
}

func (c *call) try(ctx context.Context, write func(context.Context) (Record, bool, error)) (Record, bool, error) {
	ctx, cancel := c.attemptTime(ctx)
	defer cancel()
	return write(ctx)
}

// The three writes that may end a record.
type finishingWrite func(context.Context, Change) (Record, bool, error)

func (c *call) finishOwn(h *hold) finishingWrite {
	return func(ctx context.Context, end Change) (Record, bool, error) {
		return c.change(ctx, Fence{ID: c.id, Owner: h.record.Owner}, end)
	}
}

func (c *call) finishAbandoned(h *hold, met Record) finishingWrite {
	return func(ctx context.Context, end Change) (Record, bool, error) {
		end.Owner = h.record.Owner
		return c.change(ctx, Fence{ID: c.id, Attempt: met.Attempt, Lease: met.Lease}, end)
	}
}

func (c *call) finishVanished(h *hold) finishingWrite {
	return func(ctx context.Context, end Change) (Record, bool, error) {
		return c.create(ctx, c.finishedRecord(h, end), time.Time{})
	}
}

// finishedRecord is the record that a finishing write leaves.
func (c *call) finishedRecord(h *hold, end Change) Record {
	return Record{
		ID: c.id, Status: end.Status, Owner: h.record.Owner,
		Attempt: max(h.record.Attempt, 1), Refunds: h.record.Refunds, Fingerprint: h.record.Fingerprint,
		Expires: end.Expires, Data: end.Data, Unavailable: end.Unavailable,
	}
}
