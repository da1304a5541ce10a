// Package memory keeps the records of package idempotent in the memory of one
// process, for tests and laptops.
package memory

import (
	"bytes"
	"container/heap"
	"context"
	"fmt"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// DefaultLimit is the number of records of a [Store] whose limit is not set.
const DefaultLimit = 100_000

// A Store is a [driver.Store] in the memory of one process. It protects that
// process only: its records are unknown to a second instance of the function,
// and to this one after a restart. Use it in tests, on a laptop, and where a
// repetition on another machine is harmless. It has no transactions, so a
// handler that uses one panics.
//
// A Store has no clock: callers pass all times. It contains a bounded number of
// records of any size. When it is full, it removes a record that is expired by
// the caller's time. If there is none, it returns a [*FullError]; it never
// removes a record that still counts.
//
// A Store copies its arguments. The returned Data and Steps share their bytes
// with the store, so that a replay copies nothing: callers must not modify
// them.
type Store struct {
	limit    int
	mu       sync.Mutex
	records  map[string]*entry
	byExpiry expiries
}

// New returns an empty store for at most limit records. A limit of 0 or less
// stands for [DefaultLimit].
func New(limit int) *Store {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Store{limit: limit, records: make(map[string]*entry)}
}

// Volatile returns true: see [driver.Volatile].
func (m *Store) Volatile() bool { return true }

// A FullError reports that a [Store] has no room for one more record. It wraps
// [driver.ErrUnavailable].
type FullError struct{ Limit int }

func (e *FullError) Error() string {
	return fmt.Sprintf("idempotent: the in-memory store is full: %d live records", e.Limit)
}

// SafeText returns the whole text.
func (e *FullError) SafeText() string { return e.Error() }

// Unwrap returns [driver.ErrUnavailable]: room comes back with time.
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

// Put stores r unconditionally. An [driver.Absent] record removes the stored
// one. The protocol has no such write: tests use it to plant records of foreign
// libraries.
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

// clone copies the bytes that the caller may modify, and rounds times like the
// numbers of a DynamoDB item.
func clone(r driver.Record) driver.Record {
	r.Data, r.Request = bytes.Clone(r.Data), bytes.Clone(r.Request)
	r.Lease, r.Expires, r.Began = driver.WholeMillis(r.Lease), driver.WholeSeconds(r.Expires), driver.WholeMillis(r.Began)
	r.Ended = r.Ended.Cut()
	if r.Steps != nil {
		r.Steps = withSteps(nil, r.Steps)
	}
	return r
}

// lend returns a record without empty steps, so that a claim that meets a claim
// allocates nothing.
func lend(r driver.Record) driver.Record {
	if len(r.Steps) == 0 {
		r.Steps = nil
		return r
	}
	r.Steps = maps.Clone(r.Steps)
	return r
}

// entry is a record and its place in the heap of expiries.
type entry struct {
	rec    driver.Record
	expiry int64
	pos    int
}

// expiryOf returns the first cutoff, in milliseconds, for which Record.Expired
// holds.
func expiryOf(r driver.Record) int64 {
	const never = math.MaxInt64
	if r.Expires.IsZero() || r.Expires.Unix() >= never/1000-1 {
		return never
	}
	expiry := (r.Expires.Unix() + 1) * 1000
	if r.Status == driver.InProgress && !r.Lease.IsZero() {
		expiry = max(expiry, r.Lease.UnixMilli()+1)
	}
	return expiry
}

// expiries is a heap of all records, with the first to expire on top. A full
// store finds out in constant time whether it may remove any.
type expiries []*entry

func (h expiries) Len() int           { return len(h) }
func (h expiries) Less(i, j int) bool { return h[i].expiry < h[j].expiry }

func (h expiries) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i, j
}

func (h *expiries) Push(x any) {
	e := x.(*entry)
	e.pos = len(*h)
	*h = append(*h, e)
}

func (h *expiries) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}
