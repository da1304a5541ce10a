package handlers

import (
	"context"
	"time"
)

// outboxRelay publishes in rounds: in each, the next message of every
// aggregate that has one, which makes the batches. A round begins when the one
// before it has ended, so that every message knows how those before it did.
type outboxRelay struct {
	*batch[*outboxItem]
	publish func(context.Context, string, []OutboxMessage) ([]error, error)
	size    int
	mark    func(context.Context, []OutboxKey) error
	recent  *recent
}

// relaying is one event on its way.
type relaying struct {
	*outboxRelay
	*invocation[*outboxItem]
	ends  []error // of the records
	lanes []outboxLane
}

// outboxLane is what is left of an aggregate: from a message of the first of
// its records on.
type outboxLane struct {
	records []int
	message int
}

// outboxBatch is one call of publish.
type outboxBatch struct {
	destination string
	lanes       []*outboxLane
	messages    []OutboxMessage
	failed      []error // one for each message, or nil
}

// handle answers the record from which the stream has to be delivered again,
// -1 if none.
func (relay *outboxRelay) handle(ctx context.Context, v *invocation[*outboxItem]) (int, error) {
	r := &relaying{outboxRelay: relay, invocation: v, ends: make([]error, len(v.records))}
	var waiting []int
	for i := range v.records {
		if !v.records[i].skip {
			waiting = append(waiting, i)
			r.ends[i] = errAfterOther // until it is out
		}
	}
	for _, lane := range byLane(len(waiting), func(i int) string { return v.records[waiting[i]].delivery.key.Aggregate }) {
		records := make([]int, len(lane))
		for i, at := range lane {
			records[i] = waiting[at]
		}
		r.lanes = append(r.lanes, outboxLane{records: records})
	}
	for r.round(ctx) {
	}
	for i, err := range r.ends {
		if err != nil {
			v.policy.failed(ctx, v.failure(i, err))
		}
	}
	return first(r.ends), v.unnamed(r.ends)
}

// round reports whether there was anything to publish.
func (r *relaying) round(ctx context.Context) bool {
	var out []int // the records whose messages all are
	batches := r.batches(&out)
	ends := schedule{lanes: apart(len(batches))}.run(ctx, len(batches), r.outboxRelay.policy.concurrency, r.lastStart, func(ctx context.Context, i int) error {
		return guarded(func() error { return r.send(ctx, batches[i]) })
	})
	for i, b := range batches {
		for j, lane := range b.lanes {
			failed := ends[i]
			if b.failed != nil && b.failed[j] != nil {
				failed = b.failed[j]
			}
			if failed != nil {
				r.ends[lane.records[0]] = readable(failed)
				lane.records = nil
				continue
			}
			r.recent.add(r.place(lane))
			r.next(lane, &out)
		}
	}
	r.marked(ctx, out)
	return len(batches) > 0
}

// batches are of the next message of every aggregate, in the order of the
// aggregates' first records. What is known to be out is passed over.
func (r *relaying) batches(out *[]int) []*outboxBatch {
	var batches []*outboxBatch
	open := map[string]*outboxBatch{}
	for i := range r.lanes {
		lane := &r.lanes[i]
		for len(lane.records) > 0 && r.passes(lane) {
			r.next(lane, out)
		}
		if len(lane.records) == 0 {
			continue
		}
		m := r.message(lane)
		b := open[m.Destination]
		if b == nil || len(b.messages) == r.size {
			b = &outboxBatch{destination: m.Destination}
			open[m.Destination] = b
			batches = append(batches, b)
		}
		b.lanes, b.messages = append(b.lanes, lane), append(b.messages, m)
	}
	return batches
}

// passes reports whether the lane's next message is out already. A record that
// does not decode ends its lane.
func (r *relaying) passes(lane *outboxLane) bool {
	at := lane.records[0]
	if err := r.records[at].err; err != nil {
		r.ends[at] = err
		lane.records = nil
		return false
	}
	return r.recent.has(r.place(lane))
}

// next goes on to the message after the lane's next one, which is out.
func (r *relaying) next(lane *outboxLane, out *[]int) {
	at := lane.records[0]
	if lane.message++; lane.message < len(r.records[at].delivery.messages) {
		return
	}
	r.ends[at] = nil
	*out = append(*out, at)
	lane.records, lane.message = lane.records[1:], 0
}

func (r *relaying) message(lane *outboxLane) OutboxMessage {
	return r.records[lane.records[0]].delivery.messages[lane.message]
}

// place tells messages apart by the event of the stream, and not by their own
// ids: an item that is written again has the same ids, and is to go out again.
func (r *relaying) place(lane *outboxLane) place {
	return place{r.records[lane.records[0]].delivery.event, lane.message}
}

// send keeps what publish says of each message. An error of its own is for
// those of which it says nothing.
func (r *relaying) send(ctx context.Context, b *outboxBatch) error {
	failed, err := r.publish(ctx, b.destination, b.messages)
	if err == nil && failed != nil && len(failed) != len(b.messages) {
		return &PublishError{Errors: len(failed), Messages: len(b.messages)}
	}
	if len(failed) == len(b.messages) {
		b.failed = failed
	}
	return err
}

// marked notes what is out. The stream goes on without: to deliver an item
// again because of it would publish its messages again, and a table that
// cannot be written would stop all of them.
func (r *relaying) marked(ctx context.Context, out []int) {
	if len(out) == 0 || r.mark == nil {
		return
	}
	keys := make([]OutboxKey, len(out))
	for i, at := range out {
		keys[i] = r.records[at].delivery.key
	}
	// On a goroutine of its own, as everything of the user's.
	ends := schedule{lanes: apart(1)}.run(ctx, 1, 1, time.Time{}, func(ctx context.Context, _ int) error {
		return readable(guarded(func() error { return r.mark(ctx, keys) }))
	})
	if ends[0] == nil {
		return
	}
	for i, at := range out {
		r.outboxRelay.policy.failed(ctx, r.failure(at, &UnmarkedError{Key: keys[i], Err: ends[0]}))
	}
}
