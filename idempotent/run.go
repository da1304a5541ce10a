package idempotent

import (
	"context"
	"errors"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/options"
	"github.com/lambda-once/once/idempotent/internal/protocol"
	"github.com/lambda-once/once/internal/form"
)

// claimed claims the record, runs the handler, and settles the record.
func (c *call) claimed(ctx context.Context) conclusion {
	c.mode.Hold = protocol.Claimed // an optimistic run may have come before
	l, e := c.claim(ctx)
	if l == nil {
		return e
	}
	l.committed = c.unacknowledged
	if note, ok := l.record.Steps[form.FailureStep]; ok {
		if err := l.frame.steps.readFailure(ctx, note); err != nil {
			if c.mode.IsDurable() {
				return conclusion{outcome: OutcomeSuspended, err: err}
			}
			// Not an error of the handler: it is not stored as a failure.
			return c.release(ctx, l, err, true)
		}
	}
	return c.run(ctx, l)
}

// bypass runs the handler without the store.
func (c *call) bypass(ctx context.Context) conclusion {
	return c.run(ctx, c.startLease(protocol.Bypassed, driver.Record{}))
}

// notRun is why a handler was not called.
type notRun struct{ error }

// run runs the handler, and settles the run.
func (c *call) run(ctx context.Context, l *lease) conclusion {
	with, err := l.frame.freeze(c.underLease(ctx, l, func(ctx context.Context) error { return c.inTurn(ctx, l) }))
	if why, ok := err.(notRun); ok {
		return c.settle(ctx, l, ran{notRun: true, err: why.error})
	}
	return c.settle(ctx, l, ran{with: with, err: err})
}

// inTurn runs the handler when its turn comes (see adapter.Turn). Until then
// the heartbeat keeps the lease.
func (c *call) inTurn(ctx context.Context, l *lease) error {
	var err error
	if turn := c.turn; turn != nil {
		began := time.Now()
		err = turn(ctx)
		// Neither the handler's time nor the store's.
		waited := time.Since(began)
		c.handlerTime -= waited
		c.began = c.began.Add(waited)
		if err == nil {
			err = l.heart.stale()
		}
	}
	if err == nil {
		err = c.CheckStart()
	}
	if err != nil {
		return notRun{err}
	}
	c.turn = nil // taken
	return c.work.run(ctx)
}

var errFailedOpenAhead = errors.New("the claim failed open before its turn, and is made again")

// stale returns why a claim that has waited for its turn no longer serves. The
// call is then made again, with a claim of its own: a store that was unavailable
// may be back, and a later call may have taken the record over.
func (h *heartbeat) stale() error {
	switch mode := h.call.mode; {
	case !mode.HasRecord():
		return nil
	case !mode.IsClaimed():
		return &StoreError{Op: "claim", Err: errFailedOpenAhead}
	case h.ctx.Err() != nil:
		return context.Cause(h.ctx)
	case h.left() <= 0: // timers do not run while a sandbox is frozen
		return h.timeEnds()
	}
	return nil
}

// underLease calls a handler or an undo function. If that panics, underLease
// settles the run during the panic: recover would lose the stack. It treats
// runtime.Goexit, which ends a failed test, in the same way.
func (c *call) underLease(ctx context.Context, l *lease, fn func(context.Context) error) error {
	h := c.heartbeat(ctx, l)
	l.heart = h
	began, returned := time.Now(), false
	var err error
	defer func() {
		c.handlerTime += time.Since(began)
		l.frame.steps.close()
		c.cutOff = h.stop() && (err != nil || !returned)
		l.frame.steps.noteSent(l) // also those that were answered meanwhile
		if returned {
			return
		}
		l.frame.discard()
		c.tally.suppress(errPanicked)
		e := c.settle(ctx, l, ran{panicked: true})
		c.abandoned = e.outcome
		c.tally.suppress(e.err)
	}()
	l.frame.steps.open(h.ctx, h.cancel)
	err = fn(options.Enter(h.ctx, l.frame))
	returned = true
	return err
}

var errPanicked = errors.New("idempotent: the handler panicked")
