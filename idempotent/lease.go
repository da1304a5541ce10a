package idempotent

import (
	"context"
	"time"
)

// invocationEnd returns the deadline of the Lambda invocation that ctx belongs
// to, or the zero time. Within a handler of ours it is the deadline of the
// outermost call: the handler's own context ends earlier, and the process does
// not.
func (x *Executor) invocationEnd(ctx context.Context) time.Time {
	if f := frameOf(ctx); f != nil && !f.invocation.IsZero() {
		return f.invocation
	}
	deadline, ok := ctx.Deadline()
	if !ok || !x.onLambda {
		return time.Time{}
	}
	return wall(deadline)
}

// handlerDeadline returns the time at which the context of a handler ends that a call
// with ctx would run in an invocation, and reports whether there is one.
func (x *Executor) handlerDeadline(ctx context.Context, invocation time.Time) (deadline time.Time, ok bool) {
	deadline, ok = ctx.Deadline()
	if invocation.IsZero() || x.disabled {
		return deadline, ok
	}
	end := x.times.HandlerEnd(invocation, invocation)
	if ok && deadline.Before(end) {
		return deadline, true
	}
	return end, true
}
