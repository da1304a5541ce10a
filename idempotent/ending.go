package idempotent

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// ending is how a call ends: what its event says, and what its caller gets.
type ending struct {
	outcome Outcome
	err     error
}

// leaseLost ends a call whose record another owns.
func (c *call) leaseLost(h *hold) ending {
	return ending{OutcomeLeaseLost, &LeaseLostError{KeyHash: c.hash, Attempt: h.record.Attempt}}
}

// outcomeUnknown ends a call of whose transaction nobody knows whether it was
// committed.
func (c *call) outcomeUnknown(cause error) ending {
	return ending{OutcomeUnknown, &OutcomeUnknownError{KeyHash: c.hash, Err: cause}}
}

// report makes the event of a call. After a panic its ending is empty.
func (c *call) report(ctx context.Context, e ending) {
	c.event.Total = time.Since(c.began)
	// The last is for a store or a codec that panicked.
	c.event.Outcome = cmp.Or(e.outcome, c.abandoned, OutcomeUnknown)
	if c.cutOff && c.event.Outcome == OutcomeReleased {
		c.event.Outcome = OutcomeTimedOut
	}
	switch {
	case c.passedOver == nil:
		c.event.Err = e.err
	case e.err == nil:
		c.event.Err = c.passedOver
	default:
		c.event.Err = errors.Join(e.err, c.passedOver)
	}
	if event := eventOf(ctx); event != nil {
		*event = c.event
	}
	c.x.config.Observer.Observe(ctx, c.event)
}
