package idempotent

import (
	"cmp"
	"context"
	"time"
)

// run calls the handler under its lease, and settles the record by what the
// handler did.
func (c *call) run(ctx context.Context, h *hold) ending {
	c.event.Attempt = h.record.Attempt
	in := c.inside(ctx, h)
	if err := in.steps.readFailure(ctx); err != nil {
		return c.release(ctx, h, err, true)
	}
	with, err := in.frozen(c.underLease(ctx, h, in, c.work.run))
	if failed := in.steps.failed; failed != nil {
		// An earlier attempt has failed for good: nothing that this one did
		// counts.
		return c.failForGood(ctx, h, in, failed.err())
	}
	if stopped := in.steps.stoppedBy(); stopped != nil {
		if err != nil && !is(err, stopped) {
			c.passOver(unmarked(err))
			err = nil
		}
		return c.failForGood(ctx, h, in, cmp.Or(err, stopped))
	}
	switch {
	case err != nil:
	case with == nil:
		return c.complete(ctx, h)
	case h.open:
		return c.commitUnclaimed(ctx, h, in, with)
	default:
		refused, e := c.commit(ctx, h, with)
		if refused == nil {
			return e
		}
		err = refused.Err
	}
	return c.settle(ctx, h, in, err)
}

// settle ends a run whose handler, or transaction, failed.
func (c *call) settle(ctx context.Context, h *hold, in *inside, err error) ending {
	asks := in.judge(err)
	c.event.Permanent = asks.permanent
	switch {
	case asks.permanent && !c.x.config.ReleasePermanent:
		return c.failForGood(ctx, h, in, err)
	case in.steps.unheard() != nil:
		return c.keepClaimed(in.steps.unheard(), err)
	case asks.retryable:
		c.cutOff = false // nothing was done
		return c.release(ctx, h, err, true)
	default:
		return c.release(ctx, h, c.timedOut(h, err), false)
	}
}

// underLease calls a handler, or what undoes it. If that panics, the record is
// given up while the panic goes on: recover would cost it its stack.
// runtime.Goexit, which ends a test that failed, takes the same way.
func (c *call) underLease(ctx context.Context, h *hold, in *inside, fn func(context.Context) error) error {
	k := c.keep(ctx, h)
	began, returned := time.Now(), false
	var err error
	defer func() {
		c.cutOff = k.cutOff() && (err != nil || !returned)
		c.event.Handler += time.Since(began)
		in.steps.close()
		k.stop()
		c.countSteps(h, in)
		if !returned {
			c.abandon(ctx, h, in)
		}
	}()
	in.steps.open(k.ctx, k.cancel)
	err = fn(c.enter(k.ctx, in))
	returned = true
	return err
}
