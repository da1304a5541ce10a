package idempotent

import (
	"context"
	"errors"

	"github.com/lambda-once/once/idempotent/driver"
)

// release gives the record up after an error that is worth a retry.
func (c *call) release(ctx context.Context, h *hold, cause error, refund bool) ending {
	cause = unmarked(cause)
	s := c.sendRelease(ctx, h, refund)
	switch s.ruling {
	case takeTheirs:
		c.passOver(cause)
		return c.answerLate(ctx, s.met)
	case yield:
		c.passOver(cause)
		return c.leaseLost(h)
	}
	if h.sent && h.held != nil {
		// Under a live lease a late copy of the transaction would be committed.
		cause = &StoreError{Op: "release", Executed: true, Err: h.held, Handler: cause}
	}
	return ending{released(h, s), cause}
}

var errPanicked = errors.New("idempotent: the handler panicked")

// abandon gives the record up while a panic goes on.
func (c *call) abandon(ctx context.Context, h *hold, in *inside) {
	c.passOver(errPanicked)
	unheard, stopped := in.steps.unheard(), in.steps.stoppedBy()
	switch {
	case h.optimistic:
		c.abandoned = OutcomeReleased
	case unheard != nil:
		c.abandoned = OutcomeUnknown
		c.passOver(unheard)
	case stopped != nil && in.steps.failed == nil:
		// No later attempt could undo it. A panic of what does comes back here.
		e := c.failForGood(ctx, h, in, stopped)
		if c.abandoned = e.outcome; e.err != nil {
			c.passOver(e.err)
		}
	default:
		c.abandoned = released(h, c.sendRelease(ctx, h, false))
	}
}

// keepClaimed ends a run with a step that is done and may not be recorded.
// Nothing is released: the next attempt would do the step again, while the
// write may still be on its way.
func (c *call) keepClaimed(unheard *StoreError, cause error) ending {
	failed := *unheard
	if cause = unmarked(cause); cause != error(unheard) {
		failed.Handler = cause
	}
	return ending{OutcomeUnknown, &failed}
}

// sendRelease releases the record. A first attempt that left no trace is
// deleted; otherwise the record stays without owner, for its attempts to count.
func (c *call) sendRelease(ctx context.Context, h *hold, refund bool) sent {
	ctx, cancel := c.finishing(ctx, h)
	defer cancel()
	keep := driver.ReleaseKeep
	if refund {
		keep = driver.ReleaseRefund
	}
	how := keep
	if h.record.Attempt == 1 && c.x.config.MaxAttempts == 0 && !h.open && !h.sent && !h.stepped {
		how = driver.ReleaseDelete
	}
	rules := &releasing
	if h.open {
		rules = rules.once()
	}
	s := c.x.repeat(ctx, write{
		policy: rules, own: h.record, unacknowledged: h.open,
		send: func(ctx context.Context, ruling ruling, _ driver.Record) reply {
			if ruling == keepSteps {
				how = keep // finished steps must not run again
			}
			c.look()
			return c.tryChange(ctx, h, driver.Change{Release: how})
		},
	})
	if s.ruling == unknown {
		// The caller needs the handler's error, the observer both.
		h.held = &StoreError{Op: "release", Executed: true, Err: s.err}
		c.passOver(h.held)
	}
	return s
}

// released is the outcome of a release.
func released(h *hold, s sent) Outcome {
	switch {
	case s.ruling == takeTheirs, s.ruling == yield:
		return OutcomeLeaseLost
	case h.open:
		return OutcomeBypassed
	case s.ruling == unknown:
		return OutcomeUnknown
	default:
		return OutcomeReleased
	}
}
