package group

import (
	"context"
	"runtime"
	"slices"
	"time"
)

// A Call is one call in a shared request.
type Call[W Work, A any] struct {
	Work W

	ctx context.Context

	// The queue's mutex guards these.
	lingers bool
	entered time.Time
	flight  *flight // nil while the call waits
	alone   bool    // its caller sends it, and then frees the slot
	hold    *time.Timer

	end      <-chan struct{} // closed when it may not wait for siblings any longer, or nil
	overdue  chan struct{}   // closed when the request may not hold the caller any longer
	answered bool            // for the goroutine of the request
	answer   A
	err      error
	ready    chan struct{} // closed when the call is answered, or to be sent alone
}

// Answer sets the result of the call. The function that sends requests calls it; the
// first of several results counts.
func (c *Call[W, A]) Answer(a A) { c.finish(a, nil) }

func (c *Call[W, A]) finish(a A, err error) {
	if !c.answered {
		c.release()
		c.answered, c.answer, c.err = true, a, err
		close(c.ready)
	}
}

// release stops the timer of a call that is leaving its request.
func (c *Call[W, A]) release() {
	if c.hold != nil {
		c.hold.Stop()
	}
}

// A flight is a request under way. The queue's mutex guards it.
type flight struct {
	callers  int                // those that have not left
	cancel   context.CancelFunc // of the context of a shared request
	patience *time.Timer
	freed    bool // it has no slot any more
}

// dispatch starts requests for the calls that wait, as far as slots are free.
func (q *Queue[W, A]) dispatch() {
	for q.flying < q.limits.Slots && q.due() {
		if calls := q.take(); len(calls) > 0 {
			q.start(calls)
		}
	}
}

// due reports whether calls wait for nothing but a slot. A call without
// siblings does not wait for those that have some.
func (q *Queue[W, A]) due() bool {
	return len(q.waiting) > q.lingering || len(q.waiting) >= q.limits.MaxCalls ||
		len(q.waiting) > 0 && q.size >= q.limits.MaxSize
}

// take removes the calls of the next request from the queue, in their order. A
// call whose context has ended is answered in its place: its caller is leaving,
// and has not come to say so.
func (q *Queue[W, A]) take() []*Call[W, A] {
	calls := make([]*Call[W, A], 0, min(len(q.waiting), q.limits.MaxCalls))
	rest, size := q.waiting[:0], 0
	for i, c := range q.waiting {
		if err := c.ctx.Err(); err != nil {
			q.remove(c)
			var none A
			c.finish(none, err)
			continue
		}
		if len(calls) == q.limits.MaxCalls || len(calls) > 0 && size+c.Work.Size() > q.limits.MaxSize {
			rest = append(rest, q.waiting[i:]...)
			break
		}
		if slices.ContainsFunc(calls, c.conflicts) {
			rest = append(rest, c)
			continue
		}
		q.remove(c)
		calls, size = append(calls, c), size+c.Work.Size()
	}
	clear(q.waiting[len(rest):])
	q.waiting = rest
	return calls
}

// conflicts reports whether two calls cannot share a request. DynamoDB refuses a
// batch with two writes of one item, and DynamoDB Local executes the first of them
// all the same. It has no request that reads and writes.
func (c *Call[W, A]) conflicts(other *Call[W, A]) bool {
	return other.Work.Key() == c.Work.Key() || other.Work.Reads() != c.Work.Reads()
}

// start takes a slot for the calls of a request.
func (q *Queue[W, A]) start(calls []*Call[W, A]) {
	f := &flight{callers: len(calls)}
	q.flying++
	f.patience = time.AfterFunc(q.limits.Patience, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.free(f)
	})
	for _, c := range calls {
		c.flight = f
	}
	if len(calls) == 1 && !q.limits.Share {
		calls[0].alone = true
		close(calls[0].ready)
		return
	}
	// The values are the first caller's, for the sake of traces. The request has no
	// deadline: it ends when its last caller has left.
	ctx, cancel := context.WithCancel(context.WithoutCancel(calls[0].ctx))
	f.cancel = cancel
	for _, c := range calls {
		c.hold = time.AfterFunc(q.holds(c.ctx), func() { close(c.overdue) })
	}
	go func() {
		grow(0)
		q.fly(ctx, f, calls)
	}()
}

// holds returns how long a request may hold a caller.
func (q *Queue[W, A]) holds(caller context.Context) time.Duration {
	if deadline, ok := caller.Deadline(); ok {
		return min(q.limits.Hold, time.Until(deadline)/2)
	}
	return q.limits.Hold
}

// grow makes the stack of a goroutine as large as the SDK needs it. Otherwise the
// runtime doubles it four times, each time with more frames to copy.
//
//go:noinline
func grow(i int) byte {
	var room [24 << 10]byte
	return room[i]
}

// fly sends a shared request.
func (q *Queue[W, A]) fly(ctx context.Context, f *flight, calls []*Call[W, A]) {
	defer q.land(f)
	defer f.cancel()
	defer func() {
		err := errNoAnswer
		if p := recover(); p != nil {
			err = &PanicError{Value: p}
		}
		var none A
		for _, c := range calls {
			c.finish(none, err)
		}
	}()
	q.send(ctx, calls)
	runtime.Gosched() // see yield
}

// land ends a request.
func (q *Queue[W, A]) land(f *flight) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free(f)
}

// free returns the slot of a request, once, and starts a request for the calls that wait.
func (q *Queue[W, A]) free(f *flight) {
	if f.freed {
		return
	}
	f.freed = true
	f.patience.Stop()
	q.flying--
	q.dispatch()
}
