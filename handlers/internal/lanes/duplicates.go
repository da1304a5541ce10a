package lanes

import (
	"context"
	"time"
)

// Duplicates are the keys that several records of one event share. A second
// record waits until the first has returned, however long that takes, and then
// finds its result. For duplicates in other invocations the executor waits, up to
// a limit.
type Duplicates[K comparable] map[K]chan struct{}

// FindDuplicates returns the keys that occur more than once. A zero key is no
// key.
func FindDuplicates[K comparable](keys []K) Duplicates[K] {
	var none K
	seen := make(map[K]bool, len(keys))
	d := Duplicates[K]{}
	for _, k := range keys {
		if k == none {
			continue
		}
		if seen[k] {
			d[k] = make(chan struct{}, 1)
		}
		seen[k] = true
	}
	return d
}

// Enter waits while a duplicate runs. It reports false if lastStart passes or
// ctx is done before that. The caller calls leave when its record has returned.
func (d Duplicates[K]) Enter(ctx context.Context, key K, lastStart time.Time) (leave func(), ok bool) {
	gate, ok := d[key]
	if !ok {
		return func() {}, true
	}
	var late <-chan time.Time
	if !lastStart.IsZero() {
		timer := time.NewTimer(time.Until(lastStart))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, true
	case <-late:
	case <-ctx.Done():
	}
	return nil, false
}
