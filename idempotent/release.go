package idempotent

import (
	"context"
	"errors"
)

// release gives the record up after an error that is worth a retry.
func (c *call) release(ctx context.Context, h *hold, cause error, refund bool) error {
	cause = unmarked(cause)
	met, end := c.giveUp(ctx, h, refund)
	switch end {
	case keepTheir:
		c.passOver(cause)
		c.share(met)
		return c.answerLate(ctx, met)
	case yieldIt:
		c.passOver(cause)
		return &LeaseLostError{KeyHash: c.hash, Attempt: h.record.Attempt}
	}
	if h.sent && h.held != nil {
		// Under a live lease a late copy of the transaction would be committed.
		return &StoreError{Op: "release", Executed: true, Err: h.held, Handler: cause}
	}
	return cause
}

var errPanicked = errors.New("idempotent: the handler panicked")

// abandon gives the record up while a panic goes on.
func (c *call) abandon(ctx context.Context, h *hold, in *inside) {
	c.passOver(errPanicked)
	unheard, stopped := in.steps.unheard(), in.steps.stoppedBy()
	switch {
	case h.optimistic:
		c.event.Outcome = OutcomeReleased
	case unheard != nil:
		c.event.Outcome = OutcomeUnknown
		c.passOver(unheard)
	case stopped != nil && in.steps.failed == nil:
		// No later attempt could undo it. A panic of what does comes back here.
		if err := c.failForGood(ctx, h, in, stopped); err != nil {
			c.passOver(err)
		}
	default:
		c.giveUp(ctx, h, false)
	}
}

// keepClaimed ends a run with a step that is done and may not be recorded.
// Nothing is released: the next attempt would do the step again, while the
// write may still be on its way.
func (c *call) keepClaimed(unheard *StoreError, cause error) error {
	c.event.Outcome = OutcomeUnknown
	failed := *unheard
	if cause = unmarked(cause); cause != error(unheard) {
		failed.Handler = cause
	}
	return &failed
}

// maxReleases bounds the tries of a release: unlike a result, it may be lost,
// and the lease then lapses by itself.
const maxReleases = 3

// giveUp releases the record, sets the outcome and, if the record was no longer
// ours, answers it and what that means: keepTheir or yieldIt. A first attempt
// that left no trace is deleted; otherwise the record stays without owner, for
// its attempts to count.
func (c *call) giveUp(ctx context.Context, h *hold, refund bool) (Record, ending) {
	ctx, cancel := c.finishing(ctx, h)
	defer cancel()
	keep := ReleaseKeep
	if refund {
		keep = ReleaseRefund
	}
	how := keep
	if h.record.Attempt == 1 && c.x.config.MaxAttempts == 0 && !h.open && !h.sent && !h.stepped {
		how = ReleaseDelete
	}
	c.event.Outcome = OutcomeReleased
	if h.open {
		c.event.Outcome = OutcomeBypassed
	}
	unheard := false
	for try := 1; ; try++ {
		over := wall(c.look()).Add(-c.x.config.ClockSkew)
		met, ok, err := c.try(ctx, func(ctx context.Context) (Record, bool, error) {
			return c.change(ctx, Fence{ID: c.id, Owner: h.record.Owner}, Change{Release: how})
		})
		end := decideEnd(met, h.record, over)
		if err == nil && !ok && end == tryAgain {
			err = context.Cause(ctx)
		}
		switch {
		case ok:
			return Record{}, tryAgain
		case err != nil && (ctx.Err() != nil || h.open || try >= maxReleases):
			// The caller needs the handler's error, the observer both.
			if !h.open {
				c.event.Outcome = OutcomeUnknown
			}
			h.held = &StoreError{Op: "release", Executed: true, Err: err}
			c.passOver(h.held)
			return Record{}, tryAgain
		case err != nil:
			unheard = true
		case end == tryAgain && len(met.Steps) > 0:
			how = keep // finished steps must not run again
		case end == tryAgain:
		case end == keepTheir, end == yieldIt && !unheard && !h.open:
			c.event.Outcome = OutcomeLeaseLost
			return met, end
		default:
			// It is nobody's, or a release of ours whose answer was lost has
			// made room for a successor.
			return Record{}, tryAgain
		}
		c.rest(ctx, backoff(try))
	}
}
