package idempotent

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// claimed claims the record, runs the handler, and settles the record.
func (c *call) claimed(ctx context.Context) ending {
	l, e := c.claim(ctx)
	if l == nil {
		return e
	}
	l.committed = c.unacknowledged
	if err := l.frame.steps.readFailure(ctx); err != nil {
		if c.execution != nil {
			return ending{outcome: OutcomeSuspended, err: err}
		}
		// Not an error of the handler: it is not stored as a failure.
		return c.release(ctx, l, err, true)
	}
	with, err := c.run(ctx, l)
	if c.notRun != nil {
		c.unclaim(ctx, l.record.Owner, l.unclaim)
		return ending{outcome: OutcomeNotRun, err: c.notRun}
	}
	return c.settle(ctx, l, with, err)
}

// run runs the handler under its lease. It returns the attachment, or the error
// of the handler.
func (c *call) run(ctx context.Context, l *lease) (driver.Attachment, error) {
	return l.frame.freeze(c.underLease(ctx, l, c.inTurn))
}

// inTurn runs the handler when its turn comes (see adapter.Turn). Until then
// the heartbeat keeps the lease.
func (c *call) inTurn(ctx context.Context) error {
	if turn := c.turn; turn != nil {
		began := time.Now()
		c.notRun = turn(ctx)
		// Neither the handler's time, nor what the store costs.
		waited := time.Since(began)
		c.event.Handler -= waited
		c.began = c.began.Add(waited)
		if c.notRun == nil {
			c.notRun = c.stale()
		}
	}
	if c.notRun == nil {
		c.notRun = c.tooLate()
	}
	if c.notRun != nil {
		return c.notRun
	}
	c.turn = nil // taken
	return c.work.run(ctx)
}

var errFailedOpenAhead = errors.New("the claim failed open before its turn, and is made again")

// stale returns why a claim that has waited for its turn no longer serves. The
// call is then made again, with a claim of its own: a store that was unavailable
// may be back, and another may have taken the record over.
func (c *call) stale() error {
	h := c.heart
	switch {
	case h == nil: // there is no claim
		return nil
	case h.lease.unconfirmed:
		return &StoreError{Op: "claim", Err: errFailedOpenAhead}
	case h.ctx.Err() != nil:
		return context.Cause(h.ctx)
	case h.left() <= 0: // timers do not run while a sandbox is frozen
		return c.timeEnds(h.lease)
	}
	return nil
}

// settle records the result of the handler, or releases the record.
func (c *call) settle(ctx context.Context, l *lease, with driver.Attachment, err error) ending {
	if e, settled := c.settleExecution(ctx, l, err); settled {
		return e
	}
	if failed := l.frame.steps.failed; failed != nil {
		l.frame.discard()
		// An earlier attempt failed for good, so this one does not count.
		return c.failForGood(ctx, l, replayed(failed))
	}
	if stopped := l.frame.steps.stoppedBy(); stopped != nil {
		l.frame.discard()
		if err != nil && !is(err, stopped) {
			c.tally.suppress(bare(err))
			err = nil
		}
		return c.failForGood(ctx, l, cmp.Or(err, stopped))
	}
	if err == nil && with == nil && !l.optimistic {
		return c.complete(ctx, l)
	}
	if err == nil {
		refused, e := c.commit(ctx, l, with)
		if refused == nil {
			return e
		}
		err = rejection(refused)
	}
	return c.settleError(ctx, l, err)
}

// settleError settles a run whose handler, or transaction, failed.
func (c *call) settleError(ctx context.Context, l *lease, err error) ending {
	class := l.frame.classify(err)
	if c.isOver(ctx, err) {
		return ending{outcome: OutcomeSuspended, err: c.timedOut(l, bare(err))}
	}
	c.event.Permanent = class.permanent
	switch unacknowledged := l.frame.steps.unacknowledged(); {
	case class.permanent && !c.x.config.ReleasePermanent:
		return c.failForGood(ctx, l, err)
	case unacknowledged != nil:
		return c.keepClaimed(unacknowledged, err)
	case class.retryable:
		c.cutOff = false // nothing was done
		return c.release(ctx, l, err, true)
	default:
		return c.release(ctx, l, c.timedOut(l, err), false)
	}
}

// underLease calls a handler or an undo function. If that panics, underLease
// releases the record during the panic: recover would lose the stack. It treats
// runtime.Goexit, which ends a failed test, in the same way.
func (c *call) underLease(ctx context.Context, l *lease, fn func(context.Context) error) error {
	h := c.heartbeat(ctx, l)
	c.heart = h
	began, returned := time.Now(), false
	var err error
	defer func() {
		c.cutOff = h.cutOff() && (err != nil || !returned)
		c.event.Handler += time.Since(began)
		l.frame.steps.close(l)
		h.stop()
		if !returned {
			l.frame.discard()
			c.abandon(ctx, l)
		}
	}()
	l.frame.steps.open(h.ctx, h.cancel)
	err = fn(c.enter(h.ctx, l.frame))
	returned = true
	return err
}

// timeEnds returns the cause of a handler's context that reaches the call's
// limit.
func (c *call) timeEnds(l *lease) *TimedOutError {
	return &TimedOutError{KeyHash: c.hash, Attempt: l.record.Attempt, Err: context.DeadlineExceeded}
}

// timedOut returns the caller's error for a handler that was cut off. An error
// that only reports the end of a context says nothing about the work, and often
// has no type that a caller can match.
func (c *call) timedOut(l *lease, err error) error {
	if !c.cutOff || !is(err, context.DeadlineExceeded) && !is(err, context.Canceled) {
		return err
	}
	err = bare(err)
	if _, ok := err.(*TimedOutError); ok {
		return err
	}
	return &TimedOutError{KeyHash: c.hash, Attempt: l.record.Attempt, Err: err}
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

func (w *writer) leaseLost(l *lease) *LeaseLostError {
	return &LeaseLostError{KeyHash: w.hash, Attempt: l.record.Attempt}
}

// outcomeUnknown ends a call whose transaction may or may not be committed.
func (c *call) outcomeUnknown(cause error) ending {
	return ending{outcome: OutcomeUnknown, err: &OutcomeUnknownError{KeyHash: c.hash, Err: cause}}
}
