package idempotent

import (
	"context"
	"time"
)

// HandlerDeadline returns the time at which the context of a handler ends that
// a call with ctx runs, and reports whether there is one. Adapters use it to
// decide whether there is time to start a handler.
//
// In a Lambda function it is Config.Reserve before the end of the invocation,
// elsewhere the deadline of ctx. The end of a lease with heartbeat does not
// count, as the heartbeat moves it.
func (x *Executor) HandlerDeadline(ctx context.Context) (deadline time.Time, ok bool) {
	deadline, ok = ctx.Deadline()
	invocation := x.invocationEnd(ctx)
	if invocation.IsZero() || x.disabled {
		return deadline, ok
	}
	end := x.handlerEnd(invocation, invocation)
	if ok && deadline.Before(end) {
		return deadline, true
	}
	return end, true
}

// Seals reports whether x encrypts what it stores, with a Config.Sealer.
// Adapters that write logs use it: a log must not hold what a store may not read.
func (x *Executor) Seals() bool { return x.config.Sealer != nil }

// FinishedSagaSteps returns the number of finished [SagaStep] calls of the call
// of Do, or wrapped handler, that ctx belongs to: those that would be undone if
// it failed for good. It is 0 outside of a call. Adapters use it whose handlers
// report a failure in what they return.
func FinishedSagaSteps(ctx context.Context) int {
	in := insideOf(ctx)
	if in == nil {
		return 0
	}
	return len(in.steps.toUndo())
}
