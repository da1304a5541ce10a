package idempotent

import (
	"bytes"
	"context"
	"maps"
	"time"
)

// Change implements [Store].
func (m *Memory) Change(ctx context.Context, f Fence, c Change) (Record, bool, error) {
	if err := refuse(ctx, c.With); err != nil {
		return Record{}, false, err
	}
	if err := c.Validate(f); err != nil {
		return Record{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.records[f.ID]
	if e == nil {
		return Record{}, false, nil
	}
	if !holds(e.rec, f, c) {
		return lend(e.rec), false, nil
	}
	if c.Release == ReleaseDelete {
		m.remove(f.ID)
		return Record{}, true, nil
	}
	r := apply(e.rec, c)
	// There is a record under this id, so room is not asked for.
	if err := m.put(r, time.Time{}); err != nil {
		return Record{}, false, err
	}
	return lend(r), true, nil
}

func holds(r Record, f Fence, c Change) bool {
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

func apply(r Record, c Change) Record {
	if c.Owner != "" {
		r.Owner = c.Owner
	}
	if c.Owner != "" && c.Status == Absent {
		r.Attempt = max(r.Attempt, 1) + 1
		if r.Steps == nil {
			r.Steps = map[string][]byte{}
		}
	}
	if !c.Lease.IsZero() {
		r.Lease = wholeMillis(c.Lease)
	}
	if !c.Expires.IsZero() {
		r.Expires = wholeSeconds(c.Expires)
	}
	if r.Fingerprint == "" {
		r.Fingerprint = c.Fingerprint
	}
	if len(c.Steps) > 0 {
		r.Steps = withSteps(r.Steps, c.Steps)
	}
	if c.Status != Absent {
		r.Status, r.Data, r.Payload, r.Unavailable = c.Status, bytes.Clone(c.Data), c.Payload, c.Unavailable
		r.Steps, r.Lease = nil, time.Time{}
	}
	if c.Release != 0 {
		r.Owner, r.Lease = "", LeaseEnded
	}
	if c.Release == ReleaseRefund {
		r.Refunds++
	}
	return r
}

func withSteps(old, more map[string][]byte) map[string][]byte {
	steps := make(map[string][]byte, len(old)+len(more))
	maps.Copy(steps, old)
	for name, data := range more {
		steps[name] = append([]byte{}, data...)
	}
	return steps
}
