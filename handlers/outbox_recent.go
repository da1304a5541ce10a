package handlers

import "sync"

// place is a message by the event of the stream that brought it.
type place struct {
	event   string
	message int
}

// recent remembers the last places of what was published.
type recent struct {
	mu    sync.Mutex
	known map[place]bool
	ring  []place
	next  int
}

func newRecent(size int) *recent {
	return &recent{known: make(map[place]bool), ring: make([]place, size)}
}

// add forgets the oldest. A place without an event is nobody's.
func (r *recent) add(p place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.event == "" || r.known[p] {
		return
	}
	delete(r.known, r.ring[r.next])
	r.ring[r.next], r.known[p] = p, true
	r.next = (r.next + 1) % len(r.ring)
}

func (r *recent) has(p place) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[p]
}
