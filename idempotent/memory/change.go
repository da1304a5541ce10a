package memory

import (
	"bytes"
	"context"
	"maps"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// Change implements [driver.Store].
func (m *Store) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if err := refuse(ctx, c.With); err != nil {
		return driver.Record{}, false, err
	}
	if err := c.Validate(f); err != nil {
		return driver.Record{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.records[f.ID]
	if e == nil {
		return driver.Record{}, false, nil
	}
	if !f.Holds(e.rec, c) {
		return lend(e.rec), false, nil
	}
	if c.Release == driver.ReleaseDelete {
		m.remove(f.ID)
		return driver.Record{}, true, nil
	}
	r := apply(e.rec, c)
	// There is a record under this id, so no room is needed.
	if err := m.put(r, time.Time{}); err != nil {
		return driver.Record{}, false, err
	}
	return lend(r), true, nil
}

func apply(r driver.Record, c driver.Change) driver.Record {
	if c.Owner != "" {
		r.Owner = c.Owner
	}
	if c.Owner != "" && c.Status == driver.Absent {
		r.Attempt = max(r.Attempt, 1) + 1
		if r.Steps == nil {
			r.Steps = map[string][]byte{}
		}
	}
	if !c.Lease.IsZero() {
		r.Lease = driver.WholeMillis(c.Lease)
	}
	if !c.Expires.IsZero() {
		r.Expires = driver.WholeSeconds(c.Expires)
	}
	if r.Fingerprint == "" {
		r.Fingerprint = c.Fingerprint
	}
	if len(c.Steps) > 0 {
		r.Steps = withSteps(r.Steps, c.Steps)
	}
	if c.Status != driver.Absent {
		r.Status, r.Data, r.Payload, r.Unavailable = c.Status, bytes.Clone(c.Data), c.Payload, c.Unavailable
		r.Steps, r.Request, r.Lease, r.Ended = nil, nil, time.Time{}, c.Ended.Cut()
	}
	if c.Release != 0 {
		r.Owner, r.Lease = "", driver.LeaseEnded
	}
	if c.Release == driver.ReleaseRefund {
		r.Refunds++
	}
	if !c.Began.IsZero() {
		r.Began = driver.WholeMillis(c.Began)
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
