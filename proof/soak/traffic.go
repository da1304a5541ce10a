package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lambda-once/once/proof/soak/internal/job"
)

// traffic is what the callers share.
type traffic struct {
	crew    []*worker
	ledger  *ledger
	retries backlog[job.Request]
	queue   backlog[message]
	called  recent // requests of single calls
	queued  recent // requests of the queue
	shards  []*shard
	// waiting are deliveries whose callers have left.
	waiting sync.WaitGroup

	mu  sync.Mutex
	err error
}

const (
	callers = 24
	// patience is how long a caller waits for an answer. A stopped worker takes
	// longer, and is still at work when the caller retries.
	patience = time.Second
	// A retry comes at once or after some time.
	retryAfter = 600 * time.Millisecond
	tries      = 3
)

// caller is one of the sources of deliveries. Its names and choices depend on the
// seed alone.
type caller struct {
	*traffic
	name   string
	random *rand.Rand
	sent   int
	driven int // calls after the end of all faults
}

func (t *traffic) broken(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = errors.Join(t.err, err)
}

func (t *traffic) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// run sends deliveries until the context ends.
func (c *caller) run(ctx context.Context) {
	for ctx.Err() == nil && c.failure() == nil {
		switch n := c.random.IntN(100); {
		case n < 20:
			c.deliverQueue(ctx, true)
		case n < 30:
			c.deliverStream(ctx)
		default:
			c.call(ctx)
		}
	}
}

// call makes a single call: a retry that is due, a duplicate or a new one, at times
// twice at once.
func (c *caller) call(ctx context.Context) {
	if r, ok := c.retries.next(); ok {
		c.insist(ctx, r, 0)
		return
	}
	if r, ok := c.called.any(c.random); ok && c.random.IntN(100) < 16 {
		c.insist(ctx, r, 1)
		return
	}
	r := c.request(job.Kinds[c.random.IntN(6)])
	c.called.add(r)
	if c.random.IntN(20) > 0 {
		c.insist(ctx, r, 0)
		return
	}
	second := &caller{traffic: c.traffic, name: fmt.Sprintf("%s-%d", c.name, c.sent), random: c.source()}
	var both sync.WaitGroup
	both.Go(func() { second.insist(ctx, r, 1) })
	c.insist(ctx, r, 0)
	both.Wait()
}

func (c *caller) source() *rand.Rand { return rand.New(rand.NewPCG(c.random.Uint64(), 0)) }

// insist calls until it has an answer, or leaves the rest to later.
func (c *caller) insist(ctx context.Context, r job.Request, duplicates int) {
	for range tries {
		event, err := json.Marshal(r)
		if err != nil {
			c.broken(err)
			return
		}
		d := c.delivery(r.Kind, event)
		if _, answered := c.send(ctx, d, []message{{"", r}}, duplicates); answered && c.ledger.settled(r.Key) {
			return
		}
		duplicates = 0
		wait(ctx, time.Duration(20+c.random.IntN(100))*time.Millisecond)
	}
	c.retries.add(r, retryAfter)
}

// delivery returns a delivery with a new id.
func (c *caller) delivery(kind job.Kind, event []byte) job.Delivery {
	c.sent++
	return job.Delivery{ID: fmt.Sprintf("%s/%d", c.name, c.sent), Kind: kind, Event: event}
}

// send hands a delivery to a worker, and returns its report if it comes in time. The
// ledger receives it in any case.
func (c *caller) send(ctx context.Context, d job.Delivery, messages []message, duplicates int) (r job.Report, answered bool) {
	if err := c.ledger.open(messages); err != nil {
		c.broken(err)
		return r, false
	}
	w, p := c.choose(ctx)
	if w == nil {
		return r, false
	}
	c.ledger.sent(len(messages), duplicates)
	type outcome struct {
		report job.Report
		killed bool
	}
	done := make(chan outcome, 1)
	c.waiting.Go(func() {
		// The end of the test's traffic must not look like a dead worker.
		began := time.Now()
		report, killed, err := w.deliver(context.WithoutCancel(ctx), p, d)
		switch {
		case err != nil:
			c.broken(err)
		case killed:
			c.ledger.dead(w.role, d, messages, time.Since(began))
		default:
			c.ledger.note(w.role, d, messages, report, time.Since(began))
		}
		done <- outcome{report, killed || err != nil}
	})
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case o := <-done:
		return o.report, !o.killed
	case <-late.C:
		return r, false
	}
}

// choose returns a worker that takes deliveries, with its process.
func (c *caller) choose(ctx context.Context) (*worker, *process) {
	for ctx.Err() == nil && c.failure() == nil {
		first := c.random.IntN(len(c.crew))
		for i := range c.crew {
			w := c.crew[(first+i)%len(c.crew)]
			if p, ok := w.enter(); ok {
				return w, p
			}
		}
		wait(ctx, 10*time.Millisecond)
	}
	return nil, nil
}

const accounts = 16

// request returns a new request.
func (c *caller) request(kind job.Kind) job.Request {
	c.sent++
	r := job.Request{Key: fmt.Sprintf("%s-%s-%d", kind, c.name, c.sent), Kind: kind, Dense: c.random.IntN(2) == 0}
	switch n := c.random.IntN(100); {
	case n < 70:
		r.Size = c.random.IntN(300)
	case n < 96:
		r.Size = c.random.IntN(5_000)
	default:
		r.Size = c.random.IntN(60_000)
	}
	r.Decline = kind != job.Stream && c.random.IntN(100) < 8
	switch kind {
	case job.Steps, job.Saga:
		r.Steps = 1 + c.random.IntN(4)
	case job.Transaction, job.Optimistic:
		r.Account = 1 + c.random.IntN(accounts)
	case job.Queue, job.Stream:
		if c.random.IntN(4) == 0 {
			r.Account = 1 + c.random.IntN(accounts)
		}
	}
	return r
}
