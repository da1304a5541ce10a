package outbox

import (
	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/idempotent/outbound"
)

// A Record is one record of an event.
type Record struct {
	Item *Item // nil: there is nothing to publish
	Err  error // why the item cannot be published
}

// A Queue returns the messages of one event in rounds. A round contains the
// next message of every aggregate that has one. The next round begins when all
// of its messages have a result, so that none overtakes another of its
// aggregate.
type Queue struct {
	records []Record
	results []error
	lanes   []lane
	size    int
	recent  *Recent
}

// lane is the rest of an aggregate: from a message of the first of its
// records on.
type lane struct {
	records []int
	message int
}

// A Batch is messages of one destination, each of another aggregate.
type Batch struct {
	Destination string
	Messages    []outbound.Message
	lanes       []*lane
}

// NewQueue returns the queue of an event. size is the number of messages in a
// batch, and waiting the result of records that are not published yet.
func NewQueue(records []Record, waiting error, size int, recent *Recent) *Queue {
	q := &Queue{records: records, results: make([]error, len(records)), size: size, recent: recent}
	var pending []int
	for i, r := range records {
		if r.Item != nil {
			pending = append(pending, i)
			q.results[i] = waiting
		}
	}
	for _, places := range lanes.By(len(pending), func(i int) string { return records[pending[i]].Item.Key.Aggregate }) {
		of := make([]int, len(places))
		for i, at := range places {
			of[i] = pending[at]
		}
		q.lanes = append(q.lanes, lane{records: of})
	}
	return q
}

// Item returns the item of a record.
func (q *Queue) Item(i int) *Item { return q.records[i].Item }

// Results returns the result of each record. The result is nil for a record
// whose messages are all published.
func (q *Queue) Results() []error { return q.results }

// Round returns the batches of the next round, in the order of the aggregates'
// first records. It skips messages that are known to be published, and returns
// the records whose last message it has skipped.
func (q *Queue) Round() (batches []*Batch, published []int) {
	open := map[string]*Batch{}
	for i := range q.lanes {
		l := &q.lanes[i]
		for len(l.records) > 0 && q.skips(l) {
			published = q.advance(l, published)
		}
		if len(l.records) == 0 {
			continue
		}
		m := q.item(l).Messages[l.message]
		b := open[m.Destination]
		if b == nil || len(b.Messages) == q.size {
			b = &Batch{Destination: m.Destination}
			open[m.Destination] = b
			batches = append(batches, b)
		}
		b.lanes, b.Messages = append(b.lanes, l), append(b.Messages, m)
	}
	return batches, published
}

// Settle sets the results of a batch's messages: result returns nil for a
// message that is published. An error stops the aggregate. Settle returns the
// records whose last message is now published.
func (q *Queue) Settle(b *Batch, result func(i int) error) (published []int) {
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
func (q *Queue) skips(l *lane) bool {
	if err := q.records[l.records[0]].Err; err != nil {
		q.stop(l, err)
		return false
	}
	return q.recent.contains(q.place(l))
}

// stop ends a lane with an error of its first record.
func (q *Queue) stop(l *lane, err error) {
	q.results[l.records[0]] = err
	l.records = nil
}

// advance moves past the lane's next message, which is published.
func (q *Queue) advance(l *lane, published []int) []int {
	at := l.records[0]
	if l.message++; l.message < len(q.item(l).Messages) {
		return published
	}
	q.results[at] = nil
	l.records, l.message = l.records[1:], 0
	return append(published, at)
}

func (q *Queue) item(l *lane) *Item { return q.records[l.records[0]].Item }

func (q *Queue) place(l *lane) place { return place{q.item(l).Event, l.message} }
