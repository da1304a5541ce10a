// Package cache stores values in memory.
package cache

import (
	"container/list"
	"sync"
	"time"
)

// A Cache drops the least recently used values first. A nil Cache is empty and
// stays so.
type Cache[K comparable, V any] struct {
	maxEntries, maxBytes int

	mu    sync.Mutex
	byKey map[K]*list.Element // of *entry
	order *list.List          // most recently used first
	bytes int
}

type entry[K comparable, V any] struct {
	key     K
	value   V
	bytes   int
	expires time.Time
}

// New returns a cache of at most that many entries and bytes.
func New[K comparable, V any](entries, bytes int) *Cache[K, V] {
	return &Cache[K, V]{maxEntries: entries, maxBytes: bytes, byKey: map[K]*list.Element{}, order: list.New()}
}

// Get returns the value of a key, unless it has expired by now.
func (c *Cache[K, V]) Get(key K, now time.Time) (value V, ok bool) {
	if c == nil {
		return value, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byKey[key]
	if !ok {
		return value, false
	}
	e := at.Value.(*entry[K, V])
	if !e.expires.IsZero() && !now.Before(e.expires) {
		c.remove(at)
		return value, false
	}
	c.order.MoveToFront(at)
	return e.value, true
}

// Put stores a value that takes this many bytes, unless it is larger than the cache.
// With a zero time it does not expire.
func (c *Cache[K, V]) Put(key K, value V, bytes int, expires time.Time) {
	if c == nil || bytes > c.maxBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byKey[key]; ok {
		c.remove(at)
	}
	c.byKey[key] = c.order.PushFront(&entry[K, V]{key, value, bytes, expires})
	c.bytes += bytes
	for c.bytes > c.maxBytes || c.order.Len() > c.maxEntries {
		c.remove(c.order.Back())
	}
}

// Remove removes the value of a key.
func (c *Cache[K, V]) Remove(key K) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byKey[key]; ok {
		c.remove(at)
	}
}

func (c *Cache[K, V]) remove(at *list.Element) {
	e := c.order.Remove(at).(*entry[K, V])
	delete(c.byKey, e.key)
	c.bytes -= e.bytes
}
