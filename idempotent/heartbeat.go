package idempotent

import (
	"context"
	"fmt"
	"time"
)

// keeper keeps a lease while the handler runs: it extends it every third of
// its length, and ends the handler's context before the lease ends, whatever
// the heartbeat hears.
type keeper struct {
	ctx    context.Context // the handler's
	cancel context.CancelCauseFunc

	// Only with a heartbeat.
	call   *call
	hold   *hold
	end    *time.Timer
	quit   context.CancelFunc
	joined chan struct{}
	beats  call // counts what the heartbeat did, until it is joined
}

var errLeaseEnds = fmt.Errorf("idempotent: the lease is about to end: %w", context.DeadlineExceeded)

// handlerEnd is when a handler's context must end for its result to be
// recorded in time.
func (x *Executor) handlerEnd(lease, invocation time.Time) time.Time {
	end := lease
	if !invocation.IsZero() && invocation.Before(end) {
		end = invocation
	}
	return end.Add(-x.config.Reserve)
}

func (c *call) keep(ctx context.Context, h *hold) *keeper {
	k := &keeper{call: c, hold: h}
	x := c.x
	if h.open {
		// Nothing is known to be held; only the invocation's end is.
		if h.invocation.IsZero() {
			k.ctx, k.cancel = context.WithCancelCause(ctx)
			return k
		}
		return k.until(ctx, x.handlerEnd(h.invocation, h.invocation))
	}
	if !h.invocation.IsZero() && !h.record.Lease.Before(h.invocation) {
		// The lease already lasts as long as the process can.
		return k.until(ctx, x.handlerEnd(h.record.Lease, h.invocation))
	}
	k.ctx, k.cancel = context.WithCancelCause(ctx)
	k.end = time.AfterFunc(k.left(), func() { k.cancel(errLeaseEnds) })
	k.joined = make(chan struct{})
	k.beats = call{x: x, identity: c.identity}
	beating, quit := context.WithCancel(context.WithoutCancel(ctx))
	k.quit = quit
	go k.beat(beating)
	return k
}

// until gives the handler a deadline that it can see, for its own calls.
func (k *keeper) until(ctx context.Context, end time.Time) *keeper {
	limited, release := context.WithDeadlineCause(ctx, end, errLeaseEnds)
	k.ctx = limited
	k.cancel = func(error) { release() }
	return k
}

// left is the time until the handler must end, by the local clock.
func (k *keeper) left() time.Duration {
	return k.call.x.handlerEnd(k.hold.record.Lease, k.hold.invocation).Sub(wall(time.Now()))
}

// beat extends the lease until it is told to quit or the lease is lost. Its
// context is not the caller's: a handler that ignores a cancelled context
// still runs, and still needs its lease.
func (k *keeper) beat(ctx context.Context) {
	defer close(k.joined)
	interval := k.call.x.config.Lease / 3
	if interval == 0 {
		interval = defaultLease / 3
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !k.extend(ctx) {
			return
		}
	}
}

// extend moves the lease forward. It reports whether the lease is still ours,
// as far as known: an error of the store says nothing of it.
func (k *keeper) extend(ctx context.Context) bool {
	x, record := k.call.x, &k.hold.record
	// Also after the lease's end: as long as nobody has taken over, a handler
	// that still runs gets its lease back.
	left := record.Lease.Sub(wall(time.Now()))
	ctx, cancel := context.WithTimeout(ctx, max(left, x.config.Reserve))
	defer cancel()
	lease := x.leaseFrom(wall(k.beats.look()), k.hold.invocation)
	if !lease.After(record.Lease) {
		return true // it already lasts as long as the invocation
	}
	expires := x.expiresInProgress(record.Expires, lease)
	met, ok, err := k.beats.change(ctx, Fence{ID: record.ID, Owner: record.Owner}, Change{Lease: lease, Expires: expires})
	switch {
	case err != nil:
		return true
	case ok:
		record.Lease, record.Expires = lease, expires
	case met.Owner == record.Owner && met.Status == InProgress:
		// An earlier copy of this write landed, or a later one did.
		record.Lease, record.Expires = met.Lease, met.Expires
	default:
		k.cancel(&LeaseLostError{KeyHash: k.call.hash, Attempt: record.Attempt})
		return false
	}
	k.end.Reset(k.left())
	return true
}

// stop ends the handler's context and joins the heartbeat: from here on the
// call's own writes are the only ones with its token.
func (k *keeper) stop() {
	if k.joined != nil {
		k.quit()
		<-k.joined
		k.end.Stop()
		k.call.event.RoundTrips += k.beats.event.RoundTrips
		k.call.event.Store += k.beats.event.Store
	}
	k.cancel(nil)
}
