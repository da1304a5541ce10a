package protocol

import "time"

// DefaultLease is the length of a lease if none is configured and no Lambda
// invocation bounds the process.
const DefaultLease = time.Minute

// farFuture ends the retention of records that wait for a person, so that they
// outlive the table's TTL.
var farFuture = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)

// Times computes when leases, handlers and retentions end.
type Times struct {
	Lease, ClockSkew, Reserve, Retention time.Duration
	// ProviderMemory is how long after a record began a handler may run; 0 is no limit.
	ProviderMemory time.Duration
	// AwaitPerson is set if a record in progress may wait for a person.
	AwaitPerson bool
}

// LeaseFrom returns the end of a lease that starts, or is extended, now. Without
// a configured lease it is the deadline of the Lambda invocation, if there is
// one: the process cannot outlive it.
func (t *Times) LeaseFrom(now, invocation time.Time) time.Time {
	end := invocation.Add(t.ClockSkew)
	switch {
	case t.Lease > 0:
		end = now.Add(t.Lease)
	case invocation.IsZero():
		end = now.Add(DefaultLease)
	}
	return time.UnixMilli(end.UnixMilli()) // as Truncate does, for a tenth of its time
}

// HandlerEnd returns the end of a handler's context, which leaves time to record
// the result. began is when its record did, or the zero time.
func (t *Times) HandlerEnd(lease, invocation, began time.Time) time.Time {
	end := lease
	if !invocation.IsZero() && invocation.Before(end) {
		end = invocation
	}
	end = end.Add(-t.Reserve)
	if last := began.Add(t.ProviderMemory); t.ProviderMemory > 0 && !began.IsZero() && last.Before(end) {
		return last
	}
	return end
}

// ExpiresInProgress returns the end of retention for a lease. It never moves
// back: the record of a long first attempt must not vanish under the short lease
// of its successor.
func (t *Times) ExpiresInProgress(stored, lease time.Time) time.Time {
	if t.AwaitPerson {
		return farFuture
	}
	if end := t.ExpiresFinished(lease); end.After(stored) {
		return end
	}
	return stored
}

// ExpiresFinished returns the end of retention for a record that is finished
// now, in whole seconds. A retention is never cut short.
func (t *Times) ExpiresFinished(now time.Time) time.Time {
	end := now.Add(t.Retention).Add(t.ClockSkew) // their sum may overflow
	if end.After(farFuture) {
		return farFuture
	}
	if end.Nanosecond() > 0 {
		return time.Unix(end.Unix()+1, 0)
	}
	return time.Unix(end.Unix(), 0)
}
