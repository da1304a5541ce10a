package idempotent

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// lease is what a call knows of its record: the record as stored, the
// invocation deadline, and what was sent since.
type lease struct {
	record     driver.Record
	in         *inside
	invocation time.Time // end of the Lambda invocation, or zero
	// unconfirmed: our record may or may not be stored. The claim failed open,
	// or there was none.
	unconfirmed bool
	optimistic  bool // there was no claim
	// committed: a transaction was sent, by this lease or before it. Late copies
	// of the claim and the transaction could revive a record deleted now.
	committed bool
	stepped   bool // a step may be recorded
	// unclaim is how to release the record if nothing has run.
	unclaim    driver.Release
	unreleased error // why a release may not be recorded
}

// wall drops the monotonic reading. Leases are compared with other machines'
// clocks, and monotonic clocks stop while a sandbox is frozen.
func wall(t time.Time) time.Time { return t.Round(0) }

// invocationEnd returns the deadline of the Lambda invocation that ctx belongs
// to, or the zero time. Within a handler of ours it is the deadline of the
// outermost call: the handler's own context ends earlier, and the process does
// not.
func (x *Executor) invocationEnd(ctx context.Context) time.Time {
	if in := insideOf(ctx); in != nil && !in.invocation.IsZero() {
		return in.invocation
	}
	deadline, ok := ctx.Deadline()
	if !ok || !x.onLambda {
		return time.Time{}
	}
	return wall(deadline)
}

const (
	shortestAttempt = 200 * time.Millisecond
	longestAttempt  = 5 * time.Second
)

// settling returns the context of a write that settles a run. It outlives the
// handler's context: the work is recorded even if a client has gone or a lease
// has ended. It ends with the lease, or shortly before the invocation, so that
// the caller still receives the result. A nested call does not use up the outer
// one's Reserve. Each write has time for at least one try.
func (c *call) settling(ctx context.Context, l *lease) (context.Context, context.CancelFunc) {
	end, least := l.record.Lease, max(c.x.config.Reserve, shortestAttempt)
	switch {
	case l.unconfirmed:
		end = time.Time{} // the caller chose to go on without the store
	case !l.invocation.IsZero():
		least = shortestAttempt
		if last := c.x.lastWrite(ctx, l.invocation); last.Before(end) {
			end = last
		}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), max(end.Sub(wall(time.Now())), least))
}

// lastWrite returns the time by which the writes of a call end in an invocation.
func (x *Executor) lastWrite(ctx context.Context, invocation time.Time) time.Time {
	last := invocation.Add(-min(x.config.Reserve/5, shortestAttempt))
	deadline, ok := ctx.Deadline()
	if nested := insideOf(ctx) != nil; nested && ok && deadline.Before(last) {
		return deadline
	}
	return last
}

// HandlerDeadline returns the time at which the context ends of a handler that
// a call with ctx would run, and reports whether there is one. Adapters use it
// to decide whether there is time to start a handler.
//
// In a Lambda function it is Config.Reserve before the end of the invocation,
// elsewhere the deadline of ctx. The end of a lease with a heartbeat does not
// count.
func (x *Executor) HandlerDeadline(ctx context.Context) (deadline time.Time, ok bool) {
	deadline, ok = ctx.Deadline()
	invocation := x.invocationEnd(ctx)
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
