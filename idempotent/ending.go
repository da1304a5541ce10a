package idempotent

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/lambda-once/once/idempotent/internal/options"
)

// ending is the end of a call: the outcome for its event, and the error for its
// caller.
type ending struct {
	outcome Outcome
	err     error
	// claimFirst reports that an optimistic run wrote nothing, and that the call
	// begins again with a claim.
	claimFirst bool
}

// ran returns the outcome of a call whose handler's result is recorded.
func (l *lease) ran() Outcome {
	switch {
	case l.unconfirmed && !l.optimistic:
		return OutcomeBypassed
	case l.record.Used() > 1:
		return OutcomeTakeover
	default:
		return OutcomeExecuted
	}
}

// leaseLost ends a call whose record another owns.
func (c *call) leaseLost(l *lease) ending {
	return ending{outcome: OutcomeLeaseLost, err: &LeaseLostError{KeyHash: c.hash, Attempt: l.record.Attempt}}
}

// outcomeUnknown ends a call whose transaction may or may not be committed.
func (c *call) outcomeUnknown(cause error) ending {
	return ending{outcome: OutcomeUnknown, err: &OutcomeUnknownError{KeyHash: c.hash, Err: cause}}
}

// suppress adds an error that the observer sees and the caller does not.
func (c *call) suppress(err error) {
	if c.suppressed != nil {
		err = errors.Join(c.suppressed, err)
	}
	c.suppressed = err
}

// report observes a call. After a panic, its ending is empty.
func (c *call) report(ctx context.Context, e ending) {
	c.event.Total = time.Since(c.began)
	// After a panic of a store or a codec, the outcome is unknown.
	c.event.Outcome = cmp.Or(e.outcome, c.abandoned, OutcomeUnknown)
	if c.cutOff && c.event.Outcome == OutcomeReleased {
		c.event.Outcome = OutcomeTimedOut
	}
	switch {
	case c.suppressed == nil:
		c.event.Err = e.err
	case e.err == nil:
		c.event.Err = c.suppressed
	default:
		c.event.Err = errors.Join(e.err, c.suppressed)
	}
	if event, ok := options.Of(ctx).Event.(*Event); ok {
		*event = c.event
	}
	c.x.config.Observer.Observe(ctx, c.event)
}
