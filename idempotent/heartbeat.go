package idempotent

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/bounds"
	"github.com/lambda-once/once/idempotent/internal/options"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// heartbeat extends a lease every third of its length while the handler runs.
// It cancels the handler's context before the lease ends, whatever the store
// returns. On Lambda, a lease without a configured length lasts as long as the
// process can: then the heartbeat only sets the handler's deadline.
type heartbeat struct {
	ctx    context.Context // the handler's
	cancel context.CancelCauseFunc
	limit  time.Time // the deadline that the handler sees, or zero

	call  *call
	lease *lease // only read while the handler runs

	// until is written by run alone, under mu.
	mu    sync.Mutex
	until time.Time

	// Only if the lease is extended, and owned by run until it is joined.
	expires    time.Time
	failed     error // the last extension, or nil
	limitTimer *time.Timer
	timer      *time.Timer // starts run
	quit       context.CancelFunc
	joined     chan struct{}
	calls      storeCalls
}

// heartbeat starts the heartbeat of a lease.
func (c *call) heartbeat(ctx context.Context, l *lease) *heartbeat {
	h := &heartbeat{call: c, lease: l, until: l.record.Lease, expires: l.record.Expires}
	x := c.x
	extends := false
	switch inInvocation := !c.Invocation.IsZero(); {
	case l.record.Lease.IsZero(): // without a claim
		if inInvocation && c.mode.HasRecord() {
			h.limit = x.times.HandlerEnd(c.Invocation, c.Invocation, l.record.Began)
		}
	case inInvocation && x.config.Lease == 0, c.mode.IsDurable():
		h.limit = x.times.HandlerEnd(l.record.Lease, c.Invocation, l.record.Began)
	default:
		extends = true
	}
	if !h.limit.IsZero() { // the handler can see it
		limited, cancel := context.WithDeadlineCause(ctx, h.limit, h.timeEnds())
		h.ctx, h.cancel = limited, func(error) { cancel() }
		return h
	}
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	if extends {
		h.start(ctx)
	}
	return h
}

// start extends the lease from now on.
func (h *heartbeat) start(ctx context.Context) {
	left := h.left()
	if left <= 0 {
		h.cancel(h.timeEnds()) // the timer would leave it a moment
	}
	h.limitTimer = time.AfterFunc(left, func() { h.cancel(h.timeEnds()) })
	h.joined = make(chan struct{})
	h.calls = storeCalls{x: h.call.x, tally: h.call.tally}
	// The store sees whose write it is: the call may hold the connection that the
	// write needs.
	running, quit := context.WithCancel(options.WithCall(context.WithoutCancel(ctx), h.lease.frame))
	h.quit = quit
	lease := cmp.Or(h.call.x.config.Lease, protocol.DefaultLease)
	// A slow answer to the claim may have left less than a third. Most handlers end
	// before, and need no goroutine.
	first := min(lease, h.until.Sub(wall(time.Now()))) / 3
	h.timer = time.AfterFunc(first, func() { h.run(running, lease) })
}

// timeEnds returns the cause of a handler's context that reaches the call's
// limit.
func (h *heartbeat) timeEnds() *TimedOutError {
	return &TimedOutError{RecordID: h.call.shown, Attempt: h.lease.record.Attempt, Err: context.DeadlineExceeded}
}

// left returns the time until the handler must end, by the local clock.
func (h *heartbeat) left() time.Duration {
	h.mu.Lock()
	until := h.until
	h.mu.Unlock()
	return h.call.x.times.HandlerEnd(until, h.call.Invocation, h.lease.record.Began).Sub(wall(time.Now()))
}

// run extends the lease until the heartbeat stops or the lease is lost. Its
// context is not the caller's: a handler that ignores a cancelled context still
// runs, and still needs its lease.
func (h *heartbeat) run(ctx context.Context, lease time.Duration) {
	defer close(h.joined)
	for ctx.Err() == nil {
		pause := lease / 3
		switch h.extend(ctx, lease/6) {
		case undecided:
			pause = lease / 12
		case lost:
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// extension is the result of one write of the heartbeat.
type extension uint8

const (
	extended  extension = iota // the lease is ours, and longer
	undecided                  // an error of the store says nothing about the lease
	lost                       // a different owner has the record
)

// extend moves the lease forward, in a time that leaves room for a second try.
// It does so after the lease's end too: until a later call takes over, a
// handler that still runs may have its lease back.
func (h *heartbeat) extend(ctx context.Context, limit time.Duration) extension {
	x, owner := h.call.x, h.lease.record.Owner
	limited, cancel := context.WithTimeout(ctx, max(min(limit, bounds.LongestTry), bounds.ShortestTry))
	defer cancel()
	lease := x.times.LeaseFrom(wall(time.Now()), h.call.Invocation)
	if h.left() <= 0 {
		// The timer may be overdue: it does not run while a sandbox is frozen.
		h.cancel(h.timeEnds())
	}
	expires := x.times.ExpiresInProgress(h.expires, lease)
	s := h.calls.repeat(limited, &write{
		Policy: &protocol.Extending, own: driver.Record{Owner: owner},
		// An earlier copy of this write may have landed, or a later one.
		wrote: func(met driver.Record) bool { return !met.Lease.Before(lease) },
		send: func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
			return replyOf(x.store.Change(ctx, driver.Fence{ID: h.call.id, Owner: owner}, driver.Change{Lease: lease, Expires: expires}))
		},
	})
	if ctx.Err() == nil { // else stop has cut it off
		h.failed = s.last
	}
	switch {
	case s.OK:
		h.setUntil(lease, expires)
	case s.Ruling == protocol.Done:
		h.setUntil(s.Met.Lease, s.Met.Expires)
	case s.Ruling == protocol.Yield:
		h.cancel(h.call.leaseLost(h.lease))
		return lost
	default:
		return undecided // an error, or a conflict with a different kind of write
	}
	h.limitTimer.Reset(h.left())
	return extended
}

func (h *heartbeat) setUntil(until, expires time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until, h.expires = until, expires
}

// stop, once, cancels the handler's context and joins the heartbeat. From here on only
// the call itself writes with its token. It reports whether the handler's time had
// ended before. A handler that sees its deadline may return before the context's timer
// fires.
func (h *heartbeat) stop() (cutOff bool) {
	cutOff = !h.limit.IsZero() && !time.Now().Before(h.limit)
	if h.ctx.Err() != nil {
		_, cutOff = context.Cause(h.ctx).(*TimedOutError)
	}
	if h.joined != nil {
		h.quit()
		if !h.timer.Stop() {
			<-h.joined
		}
		h.limitTimer.Stop()
		h.lease.record.Lease, h.lease.record.Expires = h.until, h.expires
		if h.failed != nil && cutOff {
			h.call.tally.suppress(&StoreError{Op: "extend", Executed: true, Err: h.failed})
		}
	}
	h.cancel(nil)
	return cutOff
}
