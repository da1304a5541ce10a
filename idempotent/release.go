package idempotent

import (
	"context"
	"errors"
)

// release gives the record up after an error that is worth a retry.
func (c *call) release(ctx context.Context, h *hold, cause error, refund bool) error {
	cause = unmarked(cause)
	s := c.sendRelease(ctx, h, refund)
	switch s.ruling {
	case takeTheirs:
		c.passOver(cause)
		c.share(s.met)
		return c.answerLate(ctx, s.met)
	case yield:
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
		c.sendRelease(ctx, h, false)
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

// sendRelease releases the record, and sets the outcome. A first attempt that left no
// trace is deleted; otherwise the record stays without owner, for its attempts
// to count.
func (c *call) sendRelease(ctx context.Context, h *hold, refund bool) sent {
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
	rules := &releasing
	if h.open {
		rules = rules.once()
	}
	s := c.x.repeat(ctx, write{
		policy: rules, own: h.record, unacknowledged: h.open,
		send: func(ctx context.Context, ruling ruling, _ Record) reply {
			if ruling == keepSteps {
				how = keep // finished steps must not run again
			}
			c.look()
			return c.tryChange(ctx, h, Change{Release: how})
		},
	})
	switch {
	case s.ruling == takeTheirs, s.ruling == yield:
		c.event.Outcome = OutcomeLeaseLost
	case h.open:
		c.event.Outcome = OutcomeBypassed
	case s.ruling == unknown:
		c.event.Outcome = OutcomeUnknown
	default:
		c.event.Outcome = OutcomeReleased
	}
	if s.ruling == unknown {
		// The caller needs the handler's error, the observer both.
		h.held = &StoreError{Op: "release", Executed: true, Err: s.err}
		c.passOver(h.held)
	}
	return s
}
