package idempotent

import (
	"context"
	"time"
)

// run calls the handler under its lease, and settles the record by what the
// handler did.
func (c *call) run(ctx context.Context, h *hold) error {
	c.event.Attempt = h.record.Attempt
	err := c.underLease(ctx, h)
	switch {
	case err == nil:
		return c.complete(ctx, h)
	case isPermanent(err) && !c.x.config.ReleasePermanent:
		return c.fail(ctx, h, err)
	default:
		return c.release(ctx, h, err)
	}
}

// underLease calls the handler. If that panics, the record is given up while
// the panic goes on: recover would cost it its stack. runtime.Goexit, which
// ends a test that failed, takes the same way.
func (c *call) underLease(ctx context.Context, h *hold) error {
	k := c.keep(ctx, h)
	began, returned := time.Now(), false
	defer func() {
		c.event.Handler = time.Since(began)
		k.stop()
		if !returned {
			c.abandon(ctx, h)
		}
	}()
	err := c.work.run(c.inside(k.ctx, h.record.Attempt))
	returned = true
	return err
}

// ran is the outcome of a call whose handler's end is recorded.
func (h *hold) ran() Outcome {
	switch {
	case h.open:
		return OutcomeBypassed
	case h.record.Attempt > 1:
		return OutcomeTakeover
	default:
		return OutcomeExecuted
	}
}

// finishing gives the context of the writes that record a handler's end. It
// outlives the handler's: a client that has gone, or a lease that is over, is
// no reason to leave the work unrecorded. The time is up at the end of the
// lease, or when Lambda ends the process; try is at least one attempt's worth.
func (c *call) finishing(ctx context.Context, h *hold) (context.Context, context.CancelFunc) {
	end := h.record.Lease
	if !h.invocation.IsZero() {
		end = h.invocation
	}
	left := end.Sub(wall(time.Now()))
	if h.open {
		left = 0 // the caller chose to go on without the store
	}
	return context.WithTimeout(context.WithoutCancel(ctx), max(left, c.x.config.Reserve))
}

const longestAttempt = 5 * time.Second

// attemptTime bounds one of the tries within ctx, so that one connection that
// hangs does not take the time of all the others.
func (c *call) attemptTime(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, _ := ctx.Deadline()
	half := min(time.Until(deadline)/2, longestAttempt)
	return context.WithTimeout(ctx, max(half, c.x.config.Reserve))
}
