package relay

import (
	"sync"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/idempotent/driver"
)

// A queue returns the messages of one event in rounds. A round contains the
// next message of every aggregate that has one. The next round begins when all
// of its messages have a result, so that none overtakes another of its
// aggregate.
type queue struct {
	items   []*item // of each record; nil: there is nothing to publish
	results []error // of each record; nil if its messages are all published
	lanes   []lane
	size    int // of a batch
	recent  *recent
}

// lane is the rest of an aggregate: from a message of the first of its
// records on.
type lane struct {
	records []int
	message int
}

// A batch is messages of one destination, each of a different aggregate.
type batch struct {
	destination string
	messages    []driver.OutboxMessage
	lanes       []*lane
}

// newQueue returns the queue of an event. waiting is the result of records that are not
// published yet.
func newQueue(items []*item, waiting error, size int, recent *recent) *queue {
	q := &queue{items: items, results: make([]error, len(items)), size: size, recent: recent}
	var pending []int
	for i := range items {
		if items[i] != nil {
			pending = append(pending, i)
			q.results[i] = waiting
		}
	}
	for _, places := range lanes.By(len(pending), func(i int) string { return items[pending[i]].key.Aggregate }) {
		for j, at := range places {
			places[j] = pending[at]
		}
		q.lanes = append(q.lanes, lane{records: places})
	}
	return q
}

// round returns the batches of the next round, in the order of the aggregates'
// first records. It skips messages that are known to be published, and returns
// the records whose last message it has skipped.
func (q *queue) round() (batches []*batch, published []int) {
	open := map[string]*batch{}
	for i := range q.lanes {
		l := &q.lanes[i]
		for len(l.records) > 0 && q.skips(l) {
			published = q.advance(l, published)
		}
		if len(l.records) == 0 {
			continue
		}
		m := q.item(l).messages[l.message]
		b := open[m.Destination]
		if b == nil || len(b.messages) == q.size {
			b = &batch{destination: m.Destination}
			open[m.Destination] = b
			batches = append(batches, b)
		}
		b.lanes, b.messages = append(b.lanes, l), append(b.messages, m)
	}
	return batches, published
}

// report sets the results of a batch's messages: result returns nil for a
// message that is published. An error stops the aggregate. report returns the
// records whose last message is now published.
func (q *queue) report(b *batch, result func(i int) error) (published []int) {
	for i, l := range b.lanes {
		if err := result(i); err != nil {
			q.stop(l, err)
			continue
		}
		q.recent.add(q.place(l))
		published = q.advance(l, published)
	}
	return published
}

// skips reports whether the lane's next message is known to be published. A
// record that does not decode stops its lane.
func (q *queue) skips(l *lane) bool {
	if err := q.item(l).err; err != nil {
		q.stop(l, err)
		return false
	}
	return q.recent.contains(q.place(l))
}

// stop ends a lane with an error of its first record.
func (q *queue) stop(l *lane, err error) {
	q.results[l.records[0]] = err
	l.records = nil
}

// advance moves past the lane's next message, which is published.
func (q *queue) advance(l *lane, published []int) []int {
	at := l.records[0]
	if l.message++; l.message < len(q.item(l).messages) {
		return published
	}
	q.results[at] = nil
	l.records, l.message = l.records[1:], 0
	return append(published, at)
}

func (q *queue) item(l *lane) *item { return q.items[l.records[0]] }

func (q *queue) place(l *lane) place { return place{q.item(l).event, l.message} }

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
