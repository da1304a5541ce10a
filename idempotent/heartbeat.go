package idempotent

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// keeper keeps a lease while the handler runs: it extends it every third of
// its length, and ends the handler's context before the lease ends, whatever
// the heartbeat hears.
type keeper struct {
	ctx    context.Context // the handler's
	cancel context.CancelCauseFunc
	limit  time.Time // the deadline that the handler sees, or zero

	call *call
	hold *hold // only read while the handler runs

	// Only with a heartbeat, and its own until it is joined.
	lease, expires time.Time
	end            *time.Timer
	quit           context.CancelFunc
	joined         chan struct{}
	beats          call // counts what the heartbeat did
}

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
	k := &keeper{call: c, hold: h, lease: h.record.Lease, expires: h.record.Expires}
	x := c.x
	if h.open {
		// Nothing is known to be held; only the invocation's end is.
		if h.invocation.IsZero() {
			k.ctx, k.cancel = context.WithCancelCause(ctx)
			return k
		}
		return k.until(ctx, x.handlerEnd(h.invocation, h.invocation))
	}
	if x.config.Lease == 0 && !h.invocation.IsZero() {
		// The lease lasts as long as the process can.
		return k.until(ctx, x.handlerEnd(h.record.Lease, h.invocation))
	}
	k.ctx, k.cancel = context.WithCancelCause(ctx)
	left := k.left()
	if left <= 0 {
		k.cancel(k.call.timeEnds(k.hold)) // the timer would leave it a moment
	}
	k.end = time.AfterFunc(left, func() { k.cancel(k.call.timeEnds(k.hold)) })
	k.joined = make(chan struct{})
	k.beats = call{x: x, identity: c.identity}
	beating, quit := context.WithCancel(context.WithoutCancel(ctx))
	k.quit = quit
	go k.run(beating)
	return k
}

// until gives the handler a deadline that it can see, for its own calls.
func (k *keeper) until(ctx context.Context, end time.Time) *keeper {
	limited, release := context.WithDeadlineCause(ctx, end, k.call.timeEnds(k.hold))
	k.ctx, k.limit = limited, end
	k.cancel = func(error) { release() }
	return k
}

// left is the time until the handler must end, by the local clock.
func (k *keeper) left() time.Duration {
	return k.call.x.handlerEnd(k.lease, k.hold.invocation).Sub(wall(time.Now()))
}

// run extends the lease until it is told to quit or the lease is lost. Its
// context is not the caller's: a handler that ignores a cancelled context
// still runs, and still needs its lease.
func (k *keeper) run(ctx context.Context) {
	defer close(k.joined)
	lease := k.call.x.config.Lease
	orElse(&lease, defaultLease)
	// A slow answer to the claim may have left less than a third.
	left := k.lease.Sub(wall(time.Now()))
	timer := time.NewTimer(min(lease, left) / 3)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		switch k.extend(ctx, lease/6) {
		case kept:
			timer.Reset(lease / 3)
		case unheard:
			timer.Reset(lease / 12)
		case lost:
			return
		}
	}
}

// beat is what became of one heartbeat.
type beat uint8

const (
	kept    beat = iota // the lease is ours, and longer
	unheard             // an error of the store says nothing of the lease
	lost                // another owns the record
)

// extend moves the lease forward, within a time that leaves room for another
// try. After the lease's end too: as long as nobody has taken over, a handler
// that still runs gets its lease back.
func (k *keeper) extend(ctx context.Context, limit time.Duration) beat {
	x, owner := k.call.x, k.hold.record.Owner
	ctx, cancel := context.WithTimeout(ctx, max(min(limit, longestAttempt), shortestAttempt))
	defer cancel()
	lease := x.leaseFrom(wall(k.beats.look()), k.hold.invocation)
	if k.left() <= 0 {
		// The timer may come late: it does not run while a sandbox is frozen.
		k.cancel(k.call.timeEnds(k.hold))
	}
	expires := x.expiresInProgress(k.expires, lease)
	met, ok, err := k.beats.change(ctx, driver.Fence{ID: k.call.id, Owner: owner}, driver.Change{Lease: lease, Expires: expires})
	switch {
	case err != nil:
		return unheard
	case ok:
		k.lease, k.expires = lease, expires
	case met.Owner == owner && met.Status == driver.InProgress && met.Lease.Before(lease):
		return unheard // a conflict with another kind of write: nothing was written
	case met.Owner == owner && met.Status == driver.InProgress:
		// An earlier copy of this write landed, or a later one did.
		k.lease, k.expires = met.Lease, met.Expires
	default:
		k.cancel(&LeaseLostError{KeyHash: k.call.hash, Attempt: k.hold.record.Attempt})
		return lost
	}
	k.end.Reset(k.left())
	return kept
}

// stop ends the handler's context and joins the heartbeat: from here on the
// call's own writes are the only ones with its token.
func (k *keeper) stop() {
	if k.joined != nil {
		k.quit()
		<-k.joined
		k.end.Stop()
		k.hold.record.Lease, k.hold.record.Expires = k.lease, k.expires
		k.call.event.RoundTrips += k.beats.event.RoundTrips
		k.call.event.Store += k.beats.event.Store
	}
	k.cancel(nil)
}
