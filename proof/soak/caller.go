package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lambda-once/once/proof/soak/worker"
)

const (
	callers = 24
	// patience is how long a caller waits for an answer. A stopped worker takes
	// longer, and is still at work when the caller retries.
	patience = time.Second
	// retryAfter is the longest time until a retry.
	retryAfter = 1200 * time.Millisecond
	queueBatch = 10
)

// message is a request on its way, with the id of the message that carries it.
type message struct {
	id      string
	request worker.Request
}

// sender is a source of deliveries: a caller or a shard.
type sender interface {
	run(ctx context.Context)   // sends new traffic until the context ends
	drain(ctx context.Context) // sends what is left
}

// caller is the source of single calls and of batches of a queue. Its names and choices
// depend on the seed alone.
type caller struct {
	*stage
	name   string
	random *rand.Rand
	named  int
}

// id returns a new one.
func (c *caller) id() string {
	c.named++
	return fmt.Sprintf("%s-%d", c.name, c.named)
}

func (c *caller) run(ctx context.Context) {
	for ctx.Err() == nil {
		if c.random.IntN(100) < 22 {
			c.deliverQueue(ctx, true)
		} else {
			c.call(ctx, true)
		}
	}
}

func (c *caller) drain(ctx context.Context) {
	for ctx.Err() == nil && c.calls.size()+c.queue.size() > 0 {
		c.call(ctx, false)
		c.deliverQueue(ctx, false)
		wait(ctx, 10*time.Millisecond)
	}
}

// next returns a retry that is due or, with fresh, a duplicate or a new request.
func (c *caller) next(of *backlog, kind worker.Kind, fresh bool) (m message, duplicates int, ok bool) {
	if m, ok := of.next(); ok || !fresh {
		return m, 0, ok
	}
	m.id = c.id()
	if r, ok := of.any(c.random); ok && c.random.IntN(100) < 18 {
		m.request = r
		return m, 1, true
	}
	m.request = c.request(kind)
	of.remember(m.request)
	return m, 0, true
}

// call makes a single call, at times twice at once.
func (c *caller) call(ctx context.Context, fresh bool) {
	m, duplicates, ok := c.next(&c.calls, worker.Singles[c.random.IntN(len(worker.Singles))], fresh)
	if !ok {
		return
	}
	first := c.send(ctx, m.request, []message{m}, duplicates, &c.calls)
	if c.random.IntN(20) == 0 {
		c.send(ctx, m.request, []message{m}, 1, &c.calls)()
	}
	first()
}

// deliverQueue sends one batch. Without fresh, it contains only messages that failed.
func (c *caller) deliverQueue(ctx context.Context, fresh bool) {
	var batch []message
	duplicates := 0
	for len(batch) < queueBatch {
		m, again, ok := c.next(&c.queue, worker.Queue, fresh)
		if !ok {
			break
		}
		if !slices.ContainsFunc(batch, func(b message) bool { return b.id == m.id }) {
			batch = append(batch, m)
			duplicates += again
		}
	}
	if len(batch) > 0 {
		c.send(ctx, queueEvent(batch), batch, duplicates, &c.queue)()
	}
}

// send hands messages to a worker. It returns a function that waits for the report, and
// returns nil if that is late. The ledger receives the report in any case. Messages that
// have to be sent again go to the backlog, if there is one.
func (c *caller) send(
	ctx context.Context, event any, messages []message, duplicates int, unfinished *backlog,
) (report func() *worker.Report) {
	d := worker.Delivery{ID: c.id(), Kind: messages[0].request.Kind, Event: encode(event)}
	done := make(chan *worker.Report, 1)
	if m, p := c.choose(ctx); p != nil {
		c.waiting.Go(func() { done <- c.deliver(m, p, d, messages, duplicates) })
	} else {
		done <- nil
	}
	return func() (r *worker.Report) {
		select {
		case r = <-done:
		case <-time.After(patience):
		}
		for _, m := range messages {
			if unfinished != nil && !finished(r, m.id) {
				unfinished.add(m, between(c.random, 20*time.Millisecond, retryAfter))
			}
		}
		return r
	}
}

// finished reports whether a message has succeeded, or failed for good. One of a queue
// is in the dead-letter queue then.
func finished(r *worker.Report, id string) bool {
	switch {
	case r == nil:
		return false
	case r.Error != nil:
		return r.Error.Declined
	}
	return !slices.Contains(r.Failed, id) ||
		slices.ContainsFunc(r.Failures, func(f worker.Failure) bool { return f.ID == id && f.Declined })
}

// deliver returns the report on a delivery, or nil if the process was killed with it.
func (c *caller) deliver(m *member, p *process, d worker.Delivery, messages []message, duplicates int) *worker.Report {
	defer p.flight.Add(-1)
	if err := c.ledger.sent(messages, duplicates); err != nil {
		c.fail(err)
		return nil
	}
	var r worker.Report
	began := time.Now()
	err := p.client.Call("worker.Deliver", d, &r)
	switch {
	case err == nil:
		c.ledger.note(m.role, d, messages, r, time.Since(began))
		return &r
	case p.killed.Load():
		c.ledger.dead(m.role, d, messages, time.Since(began))
	default:
		c.fail(fmt.Errorf("soak: worker %q: %w\n%s", m.name, err, &p.said))
	}
	return nil
}

// choose returns a worker that takes deliveries, with its process.
func (c *caller) choose(ctx context.Context) (*member, *process) {
	for ctx.Err() == nil {
		first := c.random.IntN(len(c.crew))
		for i := range c.crew {
			m := c.crew[(first+i)%len(c.crew)]
			if p := m.enter(); p != nil {
				return m, p
			}
		}
		wait(ctx, 10*time.Millisecond)
	}
	return nil, nil
}

const accounts = 16

// request returns a new request.
func (c *caller) request(kind worker.Kind) worker.Request {
	r := worker.Request{Key: fmt.Sprintf("%s-%s", kind, c.id()), Kind: kind, Dense: c.random.IntN(2) == 0}
	switch n := c.random.IntN(100); {
	case n < 70:
		r.Size = c.random.IntN(300)
	case n < 96:
		r.Size = c.random.IntN(5_000)
	default:
		r.Size = c.random.IntN(60_000)
	}
	r.Decline = kind != worker.Stream && c.random.IntN(100) < 8
	switch kind {
	case worker.Steps, worker.Saga:
		r.Steps = 1 + c.random.IntN(4)
	case worker.Transaction, worker.Optimistic:
		r.Account = 1 + c.random.IntN(accounts)
	case worker.Queue, worker.Stream:
		if c.random.IntN(4) == 0 {
			r.Account = 1 + c.random.IntN(accounts)
		}
	}
	return r
}

// encode returns the JSON of plain data, which does not fail.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
