package relay

import "sync"

// place identifies a message by the event of the stream that brought it, and
// not by its id: an item that is written again has the same ids, and its
// messages must be published again.
type place struct {
	event   string
	message int
}

// recent remembers the messages that were published last.
type recent struct {
	mu    sync.Mutex
	known map[place]bool
	ring  []place
	next  int
}

func newRecent(size int) *recent {
	return &recent{known: make(map[place]bool), ring: make([]place, size)}
}

// add forgets the oldest place. It ignores a place without an event.
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

func (r *recent) contains(p place) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[p]
}
