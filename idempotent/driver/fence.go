package driver

import "time"

// A Fence is the condition of a [Change]: the record is in progress and has
// this Owner ("" means that it has none).
//
// Attempt (0 means absent) and Lease (zero means absent) are compared only
// when the change sets a new owner: a takeover must meet the very lease that
// it saw lapse, while an owner's own writes must not depend on how far its
// last heartbeat came.
type Fence struct {
	ID      string
	Owner   string
	Attempt int64
	Lease   time.Time
}

// Holds reports whether c may be applied to the record r. It is the whole
// condition of a change, for stores that read a record before they write it.
func (f Fence) Holds(r Record, c Change) bool {
	if r.Status != InProgress || r.Owner != f.Owner {
		return false
	}
	switch {
	case c.Owner != "":
		return r.Attempt == f.Attempt && sameLease(r.Lease, f.Lease)
	case !c.Lease.IsZero():
		return !r.Lease.IsZero() && r.Lease.UnixMilli() < c.Lease.UnixMilli()
	case c.Release == ReleaseDelete:
		return len(r.Steps) == 0
	}
	return true
}

// sameLease also tells an absent lease from an ended one.
func sameLease(a, b time.Time) bool {
	return a.IsZero() == b.IsZero() && a.UnixMilli() == b.UnixMilli()
}
