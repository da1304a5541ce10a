package memory

import (
	"bytes"
	"container/heap"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// DefaultMemoryLimit is the number of records that a [Store] keeps unless
// it is told otherwise.
const DefaultLimit = 100_000

// Memory is a [driver.Store] in the memory of one process. It protects that process
// only: another instance of the same function, or this one after a restart,
// knows nothing of its records. Use it in tests, on a laptop, and where a
// repetition on another machine does no harm. It has no transactions: a handler
// that asks for one panics.
//
// It has no clock: all times are those that callers pass. It holds a bounded
// number of records, whatever their size. Being full, it drops a record that
// is cutoff by the caller's time; where there is none it refuses, with a
// [*FullError], and never forgets a record that still counts.
//
// What is passed in is copied. What is returned shares the bytes of Data and
// of steps with the store, so that a replay copies nothing: callers must not
// modify them.
type Store struct {
	limit    int
	mu       sync.Mutex
	records  map[string]*entry
	byExpiry expiries
}

// New returns an empty store for at most limit records. A limit of 0,
// or less, stands for [DefaultLimit].
func New(limit int) *Store {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Store{limit: limit, records: make(map[string]*entry)}
}

// MemoryFullError is the error of a [Store] that has no room for one more
// record. It wraps [driver.ErrUnavailable].
type FullError struct{ Limit int }

func (e *FullError) Error() string {
	return fmt.Sprintf("idempotent: the in-memory store is full: %d live records", e.Limit)
}

// Unwrap gives [driver.ErrUnavailable]: room comes back with time.
func (e *FullError) Unwrap() error { return driver.ErrUnavailable }

// Create implements [driver.Store].
func (m *Store) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	if err := refuse(ctx, with); err != nil {
		return driver.Record{}, false, err
	}
	if err := r.Validate(); err != nil {
		return driver.Record{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.records[r.ID]; e != nil && (cutoff.IsZero() || !e.rec.Expired(cutoff)) {
		return lend(e.rec), false, nil
	}
	if r.Status == driver.InProgress {
		r.Steps = map[string][]byte{}
	}
	r = clone(r)
	if err := m.put(r, cutoff); err != nil {
		return driver.Record{}, false, err
	}
	return lend(r), true, nil
}

// Get implements [driver.Store].
func (m *Store) Get(ctx context.Context, id string) (driver.Record, error) {
	if err := refuse(ctx, nil); err != nil {
		return driver.Record{}, err
	}
	if id == "" {
		return driver.Record{}, &driver.InvalidWriteError{Reason: "a record needs an id"}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.records[id]; e != nil {
		return lend(e.rec), nil
	}
	return driver.Record{}, nil
}

// Put stores r as it is, whatever was there; an [driver.Absent] one removes the
// record. No protocol write does that: it is for tests, which plant with it
// what another library would have written.
func (m *Store) Put(r driver.Record) error {
	if r.ID == "" {
		return &driver.InvalidWriteError{Reason: "a record needs an id"}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Status == driver.Absent {
		m.remove(r.ID)
		return nil
	}
	return m.put(clone(r), time.Time{})
}

func (m *Store) put(r driver.Record, cutoff time.Time) error {
	if e := m.records[r.ID]; e != nil {
		e.rec, e.expiry = r, expiryOf(r)
		heap.Fix(&m.byExpiry, e.pos)
		return nil
	}
	if len(m.records) >= m.limit {
		// One is enough, and a sweep of all would stall every caller.
		first := m.byExpiry[0]
		if first.expiry > cutoff.UnixMilli() {
			return &FullError{Limit: m.limit}
		}
		m.remove(first.rec.ID)
	}
	e := &entry{rec: r, expiry: expiryOf(r)}
	m.records[r.ID] = e
	heap.Push(&m.byExpiry, e)
	return nil
}

func (m *Store) remove(id string) {
	if e := m.records[id]; e != nil {
		heap.Remove(&m.byExpiry, e.pos)
		delete(m.records, id)
	}
}

func refuse(ctx context.Context, with any) error {
	if with != nil {
		return &driver.InvalidWriteError{Reason: fmt.Sprintf("the in-memory store cannot commit a %T together with a record", with)}
	}
	return ctx.Err()
}

// keep copies what the caller may go on to modify, and rounds times as the
// numbers of a DynamoDB item are.
func clone(r driver.Record) driver.Record {
	r.Data = bytes.Clone(r.Data)
	r.Lease, r.Expires = wholeMillis(r.Lease), wholeSeconds(r.Expires)
	steps := r.Steps
	if steps != nil {
		r.Steps = make(map[string][]byte, len(steps))
	}
	for name, data := range steps {
		r.Steps[name] = bytes.Clone(data)
	}
	return r
}

// lend gives out a record. No steps and none yet look the same outside, and
// so a claim that meets a claim allocates nothing.
func lend(r driver.Record) driver.Record {
	if len(r.Steps) == 0 {
		r.Steps = nil
		return r
	}
	r.Steps = maps.Clone(r.Steps)
	return r
}

func wholeMillis(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.UnixMilli(t.UnixMilli())
}

func wholeSeconds(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Unix(t.Unix(), 0)
}
