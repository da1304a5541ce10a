package memory

import (
	"bytes"
	"context"
	"maps"
	"reflect"
	"slices"
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

var _ driver.Sweeper = (*Store)(nil)

// Inspect implements [driver.Operable]. The server's time is that of the process.
func (m *Store) Inspect(ctx context.Context, id string) (driver.Entry, error) {
	r, err := m.Get(ctx, id)
	if r.Status == driver.Absent {
		return driver.Entry{At: time.Now()}, err
	}
	return entryOf(r), nil
}

func entryOf(r driver.Record) driver.Entry {
	size := len(r.ID) + len(r.Data) + len(r.Request)
	for name, data := range r.Steps {
		size += len(name) + len(data)
	}
	return driver.Entry{Record: r, Size: size, At: time.Now(), Stored: r}
}

// Scan implements [driver.Operable]. It returns all records as one page.
func (m *Store) Scan(ctx context.Context, f driver.Filter, _ string) (driver.Page, error) {
	if err := ctx.Err(); err != nil {
		return driver.Page{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := driver.Page{At: time.Now(), Progress: driver.Progress{Read: len(m.records)}}
	for _, id := range slices.Sorted(maps.Keys(m.records)) {
		r := lend(m.records[id].rec)
		if f.Brief {
			r.Data, r.Payload, r.Unavailable, r.Steps, r.Request = nil, "", "", nil, nil
		}
		if f.Selects(r) {
			p.Entries = append(p.Entries, entryOf(r))
		}
	}
	return p, nil
}

// Apply implements [driver.Operable].
func (m *Store) Apply(ctx context.Context, e driver.Entry, c driver.Change) (driver.Entry, bool, error) {
	if err := refuse(ctx, c.With); err != nil {
		return driver.Entry{}, false, err
	}
	if err := e.Validate(c); err != nil {
		return driver.Entry{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	stored := m.records[e.ID]
	switch {
	case stored == nil:
		return driver.Entry{}, false, nil
	case !reflect.DeepEqual(e.Stored, lend(stored.rec)):
		return entryOf(lend(stored.rec)), false, nil
	case c.Release == driver.ReleaseDelete:
		m.remove(e.ID)
		return driver.Entry{}, true, nil
	}
	r := apply(stored.rec, c)
	if c.Release != 0 {
		r.Began = time.Time{}
	}
	return entryOf(lend(r)), true, m.put(r, time.Time{})
}

// Sweep implements [driver.Sweeper].
func (m *Store) Sweep(ctx context.Context, cutoff time.Time, limit int, _ string) (deleted int, p driver.Progress, err error) {
	if err := ctx.Err(); err != nil {
		return 0, p, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.byExpiry) > 0 && m.byExpiry[0].expiry <= cutoff.UnixMilli() {
		if deleted >= limit {
			p.Next = "more"
			break
		}
		m.remove(m.byExpiry[0].rec.ID)
		deleted++
	}
	p.Read = deleted
	return deleted, p, nil
}
