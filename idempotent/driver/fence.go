package driver

import "time"

// A Fence is the condition of a [Change]: the record is in progress and has
// this Owner. "" means that the record has no owner.
//
// Attempt and Lease are compared only if the change sets a new owner; their
// zero values mean absent. A takeover must find the very lease that it saw
// lapse. The writes of an owner must not depend on whether its last heartbeat
// was applied.
type Fence struct {
	ID      string
	Owner   string
	Attempt int64
	Lease   time.Time
}

// Holds reports whether c may be applied to the record r. It checks the whole
// condition of a change, for stores that read a record before they write it.
func (f Fence) Holds(r Record, c Change) bool {
	if r.Status != InProgress || r.Owner != f.Owner {
		return false
	}
	switch {
	case c.Owner != "":
		return r.Attempt == f.Attempt && r.Lease.UnixMilli() == f.Lease.UnixMilli()
	case !c.Lease.IsZero():
		return !r.Lease.IsZero() && r.Lease.UnixMilli() < c.Lease.UnixMilli()
	case c.Release == ReleaseDelete:
		return len(r.Steps) == 0
	}
	return true
}
