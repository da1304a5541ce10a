package idempotent

import (
	"cmp"
	"context"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/protocol"
	"github.com/lambda-once/once/internal/form"
)

// settle carries out plans after a run, until one ends the call.
// protocol.Mode.Settle alone decides on the plan.
func (c *call) settle(ctx context.Context, l *lease, r ran) conclusion {
	for {
		c.examine(l, &r)
		var rejected *driver.Rejected
		var e conclusion
		switch plan := c.mode.Settle(c.facts(ctx, l, r)); plan {
		case protocol.Complete:
			e = c.complete(ctx, l)
		case protocol.Commit:
			rejected, e = c.commit(ctx, l, r.with)
		case protocol.Create:
			rejected, e = c.commitNew(ctx, l, r.with)
		case protocol.CommitAlone:
			rejected, e = c.commitAlone(ctx, r.with)
		case protocol.Undo:
			c.undo(ctx, l, &r)
			continue
		case protocol.UndoOpenly:
			r.err, r.undone = c.undoOpenly(ctx, l, r.err), protocol.AllUndone
			continue
		default:
			return c.end(ctx, l, plan, r)
		}
		if rejected == nil {
			return e
		}
		r.with, r.err = nil, rejection(rejected)
	}
}

// examine finds the demands of a run, before facts describes it: its steps must be undone, or
// its error has a class.
func (c *call) examine(l *lease, r *ran) {
	_, failed, stopped := l.frame.steps.left()
	r.undoing, r.stopped = failed != nil, stopped != nil
	switch {
	case r.notRun, r.panicked, r.undone != protocol.NotBegun:
	case r.undoing, r.stopped:
		c.mustUndo(l, r, failed, stopped)
	case r.err != nil && !c.mode.RunsExecution():
		r.class = l.frame.classify(r.err)
		c.permanent = r.class.permanent
	}
}

// mustUndo makes the reason to undo the steps the error of a run, whatever the
// handler returned.
func (c *call) mustUndo(l *lease, r *ran, failed *form.SagaFailure, stopped error) {
	l.frame.discard()
	r.with = nil
	switch {
	case failed != nil:
		// An earlier attempt failed for good, so this one does not count.
		r.err = replayed(failed)
	case r.err != nil && !is(r.err, stopped):
		c.tally.suppress(bare(r.err))
		r.err = stopped
	default:
		r.err = cmp.Or(r.err, stopped)
	}
	r.cause = r.err
}

// facts describes a run that was examined for Settle. It asks the steps, the clock and
// the execution, and changes nothing of the run.
func (c *call) facts(ctx context.Context, l *lease, r ran) protocol.Run {
	facts := protocol.Run{
		NotRun: r.notRun, Panicked: r.panicked, Failed: r.err != nil, Attached: r.with != nil,
		Permanent: r.class.permanent, Retryable: r.class.retryable, KeepsNoFailures: c.x.config.ReleasePermanent,
		Undoing: r.undoing, Stopped: r.stopped, Undone: r.undone,
	}
	switch {
	case r.notRun:
	case c.mode.RunsExecution():
		// The execution decides.
		err := r.err
		if r.panicked {
			err = errPanicked
		}
		asked := Outcome(c.execution.Decide(err))
		facts.Failed = err != nil || asked != OutcomeExecuted
		facts.Leave = facts.Failed && (asked != OutcomeReleased || c.isOver(ctx))
	case facts.Failed || facts.Panicked:
		facts.Unacknowledged = l.frame.steps.unacknowledged() != nil
		facts.Leave = c.isOver(ctx)
	}
	return facts
}

// isOver reports whether the next invocation of the execution may run under the
// same fence, because this one has ended.
func (w *writer) isOver(ctx context.Context) bool {
	return w.mode.IsDurable() && (ctx.Err() != nil || !w.Invocation.IsZero() && !w.look().Before(w.Invocation))
}

// undo undoes the finished steps of a call that failed for good.
func (c *call) undo(ctx context.Context, l *lease, r *ran) {
	r.cause = r.err
	if r.panicked {
		_, _, r.cause = l.frame.steps.left()
	}
	r.err, r.undone = r.cause, protocol.AllUndone
	undone, err := c.compensate(ctx, l, r.cause)
	c.permanent = err == nil // else the next attempt has to undo the rest
	if r.names = undone; err != nil {
		r.err, r.undone = err, protocol.SomeUndone
	}
}

// end ends a call whose handler did not succeed with the plan.
func (c *call) end(ctx context.Context, l *lease, plan protocol.Plan, r ran) conclusion {
	switch plan {
	case protocol.Fail:
		return c.fail(ctx, l, r.err, r.names)
	case protocol.CreateFailure:
		return c.createFailure(ctx, l, r.err)
	case protocol.KeepClaim:
		return keepClaimed(l.frame.steps.unacknowledged(), cmp.Or(r.cause, r.err))
	case protocol.Unclaim:
		c.unclaim(ctx, l.record.Owner, l.unclaim)
		return conclusion{outcome: OutcomeNotRun, err: r.err}
	case protocol.Refund:
		c.cutOff = false // nothing was done
		return c.release(ctx, l, r.err, true)
	case protocol.Nothing:
		if r.notRun {
			return conclusion{outcome: OutcomeNotRun, err: r.err}
		}
		return conclusion{outcome: OutcomeBypassed, err: bare(r.err)}
	}
	err := r.err
	switch {
	case r.undone == protocol.SomeUndone:
		// An error class set by an undo function does not apply to an enclosing
		// call.
		c.outer.noteInner(err)
	case r.cause == nil && !c.mode.RunsExecution():
		err = c.timedOut(l, err)
	}
	if plan == protocol.Leave {
		c.permanent = false
		return conclusion{outcome: OutcomeSuspended, err: bare(err)}
	}
	if err == nil && r.panicked && !c.mode.IsOptimistic() {
		return conclusion{outcome: c.released(c.sendRelease(ctx, l, false))} // no caller receives more
	}
	return c.release(ctx, l, err, false)
}

// release releases the record after an error that permits a retry.
func (c *call) release(ctx context.Context, l *lease, cause error, refund bool) conclusion {
	cause = bare(cause)
	if c.mode.IsOptimistic() {
		return conclusion{outcome: OutcomeReleased, err: cause} // there is no record
	}
	s := c.sendRelease(ctx, l, refund)
	switch s.Ruling {
	case protocol.TakeTheirs:
		c.tally.suppress(cause)
		return c.replaySuccessor(ctx, s.Met)
	case protocol.Yield:
		c.tally.suppress(cause)
		return conclusion{outcome: OutcomeLeaseLost, err: c.leaseLost(l)}
	}
	if l.unreleased != nil && (l.committed || cause == nil) {
		// Under a live lease a delayed copy of the transaction would be committed. And an
		// execution that asked for the release would hold the key until its timeout. The
		// service repeats the invocation, and that one the release.
		l.unreleased.Handler = cause
		cause = l.unreleased
	}
	return conclusion{outcome: c.released(s), err: cause}
}

// released returns the outcome of a release.
func (w *writer) released(s sent) Outcome {
	switch s.Ruling {
	case protocol.TakeTheirs, protocol.Yield:
		return OutcomeLeaseLost
	case protocol.Unknown:
		return w.outcome(OutcomeUnknown)
	default:
		return w.outcome(OutcomeReleased)
	}
}

// outcome returns o, or that the call was bypassed, if its claim failed open.
func (w *writer) outcome(o Outcome) Outcome {
	if w.mode.HasFailedOpen() {
		return OutcomeBypassed
	}
	return o
}

// keepClaimed ends a run with a finished step that may not be recorded. It does
// not release the record: the next attempt would repeat the step while the
// write may still arrive.
func keepClaimed(unacknowledged *StoreError, cause error) conclusion {
	failed := *unacknowledged
	if cause = bare(cause); cause != error(unacknowledged) {
		failed.Handler = cause
	}
	return conclusion{outcome: OutcomeUnknown, err: &failed}
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
	return &TimedOutError{RecordID: c.shown, Attempt: l.record.Attempt, Err: err}
}
