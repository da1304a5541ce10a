package idempotent

import (
	"context"
	"errors"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/options"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// A durable execution runs its handler again in each of its invocations, until
// it is finished. All of them own one claim: see adapter.Execution. They
// also share its fence, so a write that only one of them may make asks leaves
// first.

// executionOf returns the execution that owns the claim of a call, or nil. A step
// that enters its claim again runs again, so with Config.MaxAttempts its calls
// have claims of their own, which count.
func (x *Executor) executionOf(o *options.Options) *options.Execution {
	if e := o.Execution; e != nil && (e.Settle != nil || x.config.MaxAttempts == 0) {
		return e
	}
	return nil
}

// unprotectedIDIn returns the id of a call without a key. It is the same each time
// that the execution, or the step within it, makes the call. Several operations may
// be called in one step.
func (x *Executor) unprotectedIDIn(e *options.Execution) string {
	operation := ""
	if e.Settle == nil {
		operation = x.operation
	}
	return unprotectedPrefix + protocol.ExecutionOwner(operation, e.ID, 1)
}

// runsAgain reports whether the handler is that of an execution, and not of a
// step within one.
func (c *call) runsAgain() bool { return c.execution != nil && c.execution.Settle != nil }

// isOver reports whether a run that returned err, or panicked, leaves its claim
// to another invocation of its execution. After the end of the invocation that
// one may be running, under the same fence.
func (c *call) isOver(ctx context.Context, err error) bool {
	switch {
	case c.execution == nil:
		return false
	case c.runsAgain() && Outcome(c.execution.Settle(err)) != OutcomeReleased:
		return true
	}
	return ctx.Err() != nil || !c.invocation.IsZero() && !c.look().Before(c.invocation)
}

// settleExecution settles a run of an execution's handler that does not complete
// the record. It reports false for any other run.
func (c *call) settleExecution(ctx context.Context, l *lease, err error) (ending, bool) {
	switch {
	case !c.runsAgain(), err == nil && Outcome(c.execution.Settle(nil)) == OutcomeExecuted:
		return ending{}, false
	case c.isOver(ctx, err):
		return ending{outcome: OutcomeSuspended, err: bare(err)}, true
	}
	e := c.release(ctx, l, err, false)
	if e.err == nil && l.unreleased != nil {
		// Otherwise the key would be held until the execution's timeout. The
		// service repeats the invocation, and that one the release.
		e.err = l.unreleased
	}
	return e, true
}

// returnSteps releases a record that an execution owns and that has steps: the last
// one arrived between the read of the record and its takeover. All invocations of the
// execution find it, so none has run.
func (c *call) returnSteps(ctx context.Context, l *lease) ending {
	e := c.release(ctx, l, &StepsLeftError{KeyHash: c.hash}, true)
	switch {
	case l.unreleased != nil: // as in settleExecution
		e.err = &StoreError{Op: "release", Err: errors.Unwrap(l.unreleased)}
	case e.outcome == OutcomeReleased:
		e.outcome = OutcomeFailed
	}
	return e
}

// replaysItself reports whether the finished record is that of the execution
// whose handler is called again: its service did not receive the result.
func (c *call) replaysItself(record driver.Record) bool {
	return c.runsAgain() && record.Status == driver.Completed && record.Owner == c.ownerIn(record, "")
}

// runFinished runs the handler of a finished execution, whose operations return
// what they have recorded.
func (c *call) runFinished(ctx context.Context) ending {
	e := c.bypass(ctx)
	e.outcome = OutcomeReplayed
	return e
}
