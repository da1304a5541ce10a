package idempotent

import (
	"bytes"
	"container/heap"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"
)

// DefaultMemoryLimit is the number of records that a [Memory] keeps unless
// it is told otherwise.
const DefaultMemoryLimit = 100_000

// Memory is a [Store] in the memory of one process. It protects that process
// only: another instance of the same function, or this one after a restart,
// knows nothing of its records. Use it in tests, on a laptop, and where a
// repetition on another machine does no harm. It has no transactions: a handler
// that asks for one panics.
//
// It has no clock: all times are those that callers pass. It holds a bounded
// number of records, whatever their size. Being full, it drops a record that
// is over by the caller's time; where there is none it refuses, with a
// [*MemoryFullError], and never forgets a record that still counts.
//
// What is passed in is copied. What is returned shares the bytes of Data and
// of steps with the store, so that a replay copies nothing: callers must not
// modify them.
type Memory struct {
	limit   int
	mu      sync.Mutex
	records map[string]*entry
	byEnd   ends
}

// NewMemory returns an empty store for at most limit records. A limit of 0,
// or less, stands for [DefaultMemoryLimit].
func NewMemory(limit int) *Memory {
	if limit <= 0 {
		limit = DefaultMemoryLimit
	}
	return &Memory{limit: limit, records: make(map[string]*entry)}
}

// MemoryFullError is the error of a [Memory] that has no room for one more
// record. It wraps [ErrUnavailable].
type MemoryFullError struct{ Limit int }

func (e *MemoryFullError) Error() string {
	return fmt.Sprintf("idempotent: the in-memory store is full: %d live records", e.Limit)
}

// Unwrap gives [ErrUnavailable]: room comes back with time.
func (e *MemoryFullError) Unwrap() error { return ErrUnavailable }

// Create implements [Store].
func (m *Memory) Create(ctx context.Context, r Record, over time.Time, with any) (Record, bool, error) {
	if err := refuse(ctx, with); err != nil {
		return Record{}, false, err
	}
	if err := r.Validate(); err != nil {
		return Record{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.records[r.ID]; e != nil && (over.IsZero() || !e.rec.Over(over)) {
		return lend(e.rec), false, nil
	}
	if r.Status == InProgress {
		r.Steps = map[string][]byte{}
	}
	r = keep(r)
	if err := m.put(r, over); err != nil {
		return Record{}, false, err
	}
	return lend(r), true, nil
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, id string) (Record, error) {
	if err := refuse(ctx, nil); err != nil {
		return Record{}, err
	}
	if id == "" {
		return Record{}, &InvalidWriteError{Reason: emptyID}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.records[id]; e != nil {
		return lend(e.rec), nil
	}
	return Record{}, nil
}

// Put stores r as it is, whatever was there; an [Absent] one removes the
// record. No protocol write does that: it is for tests, which plant with it
// what another library would have written.
func (m *Memory) Put(r Record) error {
	if r.ID == "" {
		return &InvalidWriteError{Reason: emptyID}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Status == Absent {
		m.remove(r.ID)
		return nil
	}
	return m.put(keep(r), time.Time{})
}

func (m *Memory) put(r Record, over time.Time) error {
	if e := m.records[r.ID]; e != nil {
		e.rec, e.end = r, endOf(r)
		heap.Fix(&m.byEnd, e.pos)
		return nil
	}
	if len(m.records) >= m.limit {
		// One is enough, and a sweep of all would stall every caller.
		first := m.byEnd[0]
		if first.end > over.UnixMilli() {
			return &MemoryFullError{Limit: m.limit}
		}
		m.remove(first.rec.ID)
	}
	e := &entry{rec: r, end: endOf(r)}
	m.records[r.ID] = e
	heap.Push(&m.byEnd, e)
	return nil
}

func (m *Memory) remove(id string) {
	if e := m.records[id]; e != nil {
		heap.Remove(&m.byEnd, e.pos)
		delete(m.records, id)
	}
}

func refuse(ctx context.Context, with any) error {
	if with != nil {
		return &InvalidWriteError{Reason: fmt.Sprintf("the in-memory store cannot commit a %T together with a record", with)}
	}
	return ctx.Err()
}

// keep copies what the caller may go on to modify, and rounds times as the
// numbers of a DynamoDB item are.
func keep(r Record) Record {
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
func lend(r Record) Record {
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
