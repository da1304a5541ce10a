package idempotent

import (
	"context"
	"time"
)

// farFuture ends the retention of records that wait for a person: "until a
// person decides" must not mean "until the table's TTL".
var farFuture = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)

// wall drops the monotonic reading of a time. Leases are compared with other
// machines' clocks, and monotonic clocks stop while a sandbox is frozen.
func wall(t time.Time) time.Time { return t.Round(0) }

// leaseFrom is the end of a lease that starts, or is extended, now. invocation
// is the deadline of the Lambda invocation, zero elsewhere. It is the lease if
// none is configured: the process cannot outlive it.
func (x *Executor) leaseFrom(now, invocation time.Time) time.Time {
	end := invocation.Add(x.config.ClockSkew)
	switch {
	case x.config.Lease > 0:
		end = now.Add(x.config.Lease)
	case invocation.IsZero():
		end = now.Add(defaultLease)
	}
	return end.Truncate(time.Millisecond)
}

// invocationEnd is the deadline of the Lambda invocation that ctx belongs to;
// zero where there is none. Within a handler of ours it is the one that the
// outermost call was given: the handler's own context ends earlier, and the
// process does not.
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

// expiresInProgress is the end of retention that goes with a lease. It never
// moves back: the record of a long first attempt must not vanish under the
// short lease of its successor.
func (x *Executor) expiresInProgress(stored, lease time.Time) time.Time {
	if x.config.MaxAttempts > 0 {
		return farFuture
	}
	if end := x.expiresFinished(lease); end.After(stored) {
		return end
	}
	return stored
}

func (x *Executor) expiresFinished(now time.Time) time.Time {
	end := now.Add(x.config.Retention).Add(x.config.ClockSkew) // their sum may overflow
	if end.After(farFuture) {
		return farFuture
	}
	return roundUp(end)
}

// roundUp gives whole seconds: a retention is never cut short.
func roundUp(t time.Time) time.Time {
	if t.Nanosecond() > 0 {
		return time.Unix(t.Unix()+1, 0)
	}
	return time.Unix(t.Unix(), 0)
}
