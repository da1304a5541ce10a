// Package group lets calls that wait for a server share its requests.
//
// A [Queue] has some slots. A call that finds one free takes it and is sent at
// once, alone, in the goroutine of its caller. Calls that find none wait. As soon
// as a slot is free, those that wait share one request. So requests grow with
// the load, and no call waits for a batch to fill up. Only siblings wait a moment: they
// announce their number, to be sent together.
//
// A shared request has a goroutine of its own, because each of its callers may
// leave before the answer. It belongs to these callers: its context ends when
// the last of them has left. A request without an answer does not hold its callers
// for long: each then sends its call again by itself.
package group

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Work is the content of a call.
type Work interface {
	// Key names the item that the call reads or writes. A request has each key at most
	// once: a call waits while an earlier one has its key.
	Key() string
	// Size is the call's part of a request, in bytes.
	Size() int
	// Reads reports whether the call reads. Reads and writes share no request.
	Reads() bool
}

// Limits are those of a [Queue]. All must be positive, but for Linger.
type Limits struct {
	Slots    int           // requests under way
	MaxCalls int           // in one request
	MaxSize  int           // of one request, in bytes
	Linger   time.Duration // how long a call waits for its siblings, unless these say so
	// Patience is how long a request may keep its slot. A request that takes
	// longer, as one on a dead connection, goes on without one, and the next
	// starts beside it. The callers bound their number: each is in one request
	// at most, and a request without a caller ends.
	Patience time.Duration
	// Hold is how long a shared request without an answer holds its callers: each
	// for half of its own time, if that is less.
	Hold time.Duration
	// Share sends single calls as shared requests too. It is for tests.
	Share bool
}

// A Queue is safe for concurrent use. Make one with [New].
type Queue[W Work, A any] struct {
	// Waited is called with the time for which a call has waited for its siblings, if
	// not nil. Set it before the first call.
	Waited func(ctx context.Context, d time.Duration)

	limits Limits
	send   func(context.Context, []*Call[W, A])

	mu        sync.Mutex
	flying    int           // the slots that are taken
	waiting   []*Call[W, A] // the first came first
	size      int           // of the waiting calls
	lingering int           // the waiting calls whose siblings are coming
	linger    *time.Timer   // of those that wait for Limits.Linger, or nil
}

// Coming returns how many siblings of a call are about to call Do or Arrive. The call
// waits for them until end is closed or, if that is nil, for Limits.Linger.
type Coming func() (siblings int, end <-chan struct{})

// New returns a queue. It calls send with the calls of each shared request, in a
// goroutine of that request. send answers them, in any order.
func New[W Work, A any](limits Limits, send func(context.Context, []*Call[W, A])) *Queue[W, A] {
	return &Queue[W, A]{limits: limits, send: send}
}

// Do has w sent in a shared request and returns its answer, or calls alone if w is
// the only call to send. It also calls alone, once, if the request has no
// answer in time (see Limits.Hold). The request may then be executed all the same,
// before or after alone. If ctx ends while w waits, w is never sent. If
// ctx ends later, the request goes on for the remaining callers, and its answer to w
// is lost. Both return the error of ctx. A panic in the request is a
// [*PanicError] of all its calls.
//
// Do calls coming once.
func (q *Queue[W, A]) Do(ctx context.Context, w W, coming Coming, alone func() A) (A, error) {
	var none A
	if err := ctx.Err(); err != nil {
		q.Arrive(coming)
		return none, err
	}
	c := &Call[W, A]{Work: w, ctx: ctx, ready: make(chan struct{}), overdue: make(chan struct{})}
	if q.enter(c, coming) {
		q.yield()
	}
	select {
	case <-c.ready:
	case <-c.end:
		q.hurry()
	case <-c.overdue:
	case <-ctx.Done():
	}
	select {
	case <-c.ready:
		if !c.alone {
			return c.answer, c.err
		}
		defer q.land(c.flight)
		return alone(), nil
	case <-c.overdue:
	case <-ctx.Done():
	}
	if !q.leave(c) {
		// Its answer came first: c.ready is closed.
		<-c.ready
		return c.answer, c.err
	}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	return alone(), nil
}

// Arrive reports a call that is sent without the queue. Siblings that wait for
// it are sent if it is the last.
func (q *Queue[W, A]) Arrive(coming Coming) {
	q.mu.Lock()
	defer q.mu.Unlock()
	// Such a call does not wait itself.
	if siblings, _ := coming(); siblings <= 0 {
		q.stopLingering()
		q.dispatch()
	}
}

// enter puts a call into the queue. It reports whether a request can start. It
// asks for the siblings under the lock, so that the last one that arrives is the
// last one in the queue.
func (q *Queue[W, A]) enter(c *Call[W, A], coming Coming) (due bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	siblings, end := coming()
	c.lingers, c.end, c.entered = siblings > 0, end, time.Now()
	q.waiting = append(q.waiting, c)
	q.size += c.Work.Size()
	if c.lingers {
		q.lingering++
		if end == nil && q.linger == nil {
			q.linger = time.AfterFunc(q.limits.Linger, q.hurry)
		}
	} else {
		q.stopLingering()
	}
	return q.flying < q.limits.Slots && q.due()
}

// yield starts requests after a pause, in which further goroutines make their calls.
// They come in bursts: when a shared request is answered, all its callers go on at
// once. Without the pause, the first of them would go alone, and the rest would wait
// for it.
func (q *Queue[W, A]) yield() {
	runtime.Gosched()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dispatch()
}

// hurry sends calls whose siblings have not come in time, with those that have.
// A timer that was stopped too late hurries later calls, which then share less.
func (q *Queue[W, A]) hurry() { q.Arrive(func() (int, <-chan struct{}) { return 0, nil }) }

func (q *Queue[W, A]) stopLingering() {
	for _, c := range q.waiting {
		q.lingered(c)
	}
	q.lingering = 0
	if q.linger != nil {
		q.linger.Stop()
		q.linger = nil
	}
}

// leave takes a call back whose caller is leaving. It reports false for a call
// that has its answer.
func (q *Queue[W, A]) leave(c *Call[W, A]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-c.ready:
		if c.alone {
			q.free(c.flight)
		}
		return c.alone
	default:
	}
	if c.flight != nil {
		c.release()
		if c.flight.callers--; c.flight.callers == 0 {
			c.flight.cancel()
		}
		return true
	}
	q.remove(c)
	q.waiting = slices.DeleteFunc(q.waiting, func(other *Call[W, A]) bool { return other == c })
	return true
}

// remove subtracts a call from the counts of those that wait.
func (q *Queue[W, A]) remove(c *Call[W, A]) {
	q.size -= c.Work.Size()
	if c.lingers {
		q.lingered(c)
		q.lingering--
	}
}

// lingered ends the wait of a call for its siblings.
func (q *Queue[W, A]) lingered(c *Call[W, A]) {
	if c.lingers && q.Waited != nil {
		q.Waited(c.ctx, time.Since(c.entered))
	}
	c.lingers = false
}

// A PanicError reports that sending a request panicked. Its writes may have
// been executed.
type PanicError struct{ Value any }

func (e *PanicError) Error() string { return fmt.Sprintf("the client panicked: %v", e.Value) }

// SafeText returns the text without the value.
func (e *PanicError) SafeText() string { return "the client panicked" }

// Unwrap returns the value of the panic if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// errNoAnswer is for a request that ended without an answer to a call, as one
// whose goroutine exits.
var errNoAnswer = errors.New("the request ended without an answer")
