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

// HandlerDeadline returns the time at which the context ends of a handler that
// a call with ctx would run, and reports whether there is one. Adapters use it
// to decide whether there is time to start a handler.
//
// In a Lambda function it is Config.Reserve before the end of the invocation,
// elsewhere the deadline of ctx. The end of a lease with a heartbeat does not
// count.
func (x *Executor) HandlerDeadline(ctx context.Context) (deadline time.Time, ok bool) {
	return x.handlerDeadline(ctx, x.invocationEnd(ctx))
}

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

// ClaimsAhead reports whether a record may be claimed before its handler's turn.
// It is false with Config.MaxAttempts, as a crash would use up an attempt of
// records that never ran. It is false where there is no claim: with
// Config.Optimistic, and with ONCE_DISABLED.
func (x *Executor) ClaimsAhead() bool {
	return x.config.MaxAttempts == 0 && !x.config.Optimistic && !x.disabled
}

// Seals reports whether x has a Config.Sealer. Adapters that write logs use it:
// what a store may not read must not appear in a log.
func (x *Executor) Seals() bool { return x.config.Sealer != nil }
