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

// ownerIn returns the owner of the claim of a call in an execution, if it is one. A
// step that enters its claim again runs again, so with Config.MaxAttempts its
// calls have claims of their own, which count.
func (x *Executor) ownerIn(e *options.Execution) (protocol.Owner, *options.Execution) {
	switch {
	case e == nil:
		return protocol.OneCall, nil
	case e.Settle != nil:
		return protocol.Execution, e
	case x.config.MaxAttempts == 0:
		return protocol.ExecutionStep, e
	}
	return protocol.OneCall, nil
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

// returnSteps releases a record that an execution owns and that has steps: the last
// one arrived between the read of the record and its takeover. All invocations of the
// execution find it, so none has run.
func (c *call) returnSteps(ctx context.Context, l *lease) conclusion {
	e := c.release(ctx, l, &StepsLeftError{KeyHash: c.hash}, true)
	switch {
	case l.unreleased != nil: // as in release
		e.err = &StoreError{Op: "release", Err: errors.Unwrap(l.unreleased)}
	case e.outcome == OutcomeReleased:
		e.outcome = OutcomeFailed
	}
	return e
}

// replaysItself reports whether the finished record is that of the execution
// whose handler is called again: its service did not receive the result.
func (w *writer) replaysItself(record driver.Record) bool {
	return w.owner == protocol.Execution && record.Status == driver.Completed && record.Owner == w.ownerIn(record, "")
}
