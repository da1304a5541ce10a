// Package cache stores finished records in memory.
package cache

import (
	"container/list"
	"sync"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// A Cache stores finished records, and drops the least recently used first. It
// contains encoded bytes, so that no two callers share a result that one may
// change. A nil Cache is empty and stays so.
type Cache struct {
	maxEntries, maxBytes int

	mu    sync.Mutex
	byID  map[string]*list.Element // of Record
	order *list.List               // most recently used first
	bytes int
}

// New returns a cache of at most that many entries and bytes.
func New(entries, bytes int) *Cache {
	return &Cache{maxEntries: entries, maxBytes: bytes, byID: map[string]*list.Element{}, order: list.New()}
}

// Get returns a record whose retention lasts beyond ahead, which is the
// caller's time plus its clock skew. This process therefore never replays a
// record that has expired by the clock of a different process.
func (c *Cache) Get(id string, ahead time.Time) (driver.Record, bool) {
	if c == nil {
		return driver.Record{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byID[id]
	if !ok {
		return driver.Record{}, false
	}
	r := e.Value.(driver.Record)
	if !r.Expires.IsZero() && !ahead.Before(r.Expires) {
		c.remove(e)
		return driver.Record{}, false
	}
	c.order.MoveToFront(e)
	return r, true
}

// Put stores a finished record, unless it is larger than the cache.
func (c *Cache) Put(r driver.Record) {
	if c == nil || weight(r) > c.maxBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byID[r.ID]; ok {
		c.remove(e)
	}
	c.byID[r.ID] = c.order.PushFront(r)
	c.bytes += weight(r)
	for c.bytes > c.maxBytes || c.order.Len() > c.maxEntries {
		c.remove(c.order.Back())
	}
}

func (c *Cache) remove(e *list.Element) {
	r := c.order.Remove(e).(driver.Record)
	delete(c.byID, r.ID)
	c.bytes -= weight(r)
}

// weight returns about the bytes that an entry takes in memory.
func weight(r driver.Record) int {
	const overhead = 400 // the record itself, its list element and map entry
	return overhead + 2*len(r.ID) + len(r.Data) + len(r.Fingerprint) + len(r.Owner) + len(r.Payload) + len(r.Unavailable)
}
