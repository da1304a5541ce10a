package idempotent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/ids"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// createAs creates the record.
func (w *writer) createAs(ctx context.Context, owner string, now time.Time) protocol.Reply {
	lease := w.leaseFrom(now)
	fresh := driver.Record{
		ID: w.id, Status: driver.InProgress, Owner: owner, Attempt: 1, Lease: lease,
		Expires: w.expiresInProgress(time.Time{}, lease), Fingerprint: w.fingerprint,
	}
	return w.create(ctx, fresh, now.Add(-w.x.config.ClockSkew), nil)
}

// takeOver takes over a record whose lease has lapsed.
func (w *writer) takeOver(ctx context.Context, owner string, lapsed driver.Record, now time.Time) protocol.Reply {
	lease := w.leaseFrom(now)
	fence := driver.Fence{ID: w.id, Owner: lapsed.Owner, Attempt: lapsed.Attempt, Lease: lapsed.Lease}
	return w.change(ctx, fence, driver.Change{
		Owner: owner, Lease: lease,
		Expires: w.expiresInProgress(lapsed.Expires, lease), Fingerprint: w.fingerprint,
	})
}

// extendOwn extends the lease of an execution for this invocation.
func (w *writer) extendOwn(ctx context.Context, own driver.Record, now time.Time) protocol.Reply {
	lease := w.leaseFrom(now)
	expires := w.expiresInProgress(own.Expires, lease)
	r := w.change(ctx, driver.Fence{ID: w.id, Owner: own.Owner}, driver.Change{Lease: lease, Expires: expires})
	if r.OK {
		own.Lease, own.Expires = lease, expires
		r.Met = own
	}
	return r
}

// ownerOf returns the token with which the call owns an attempt of the record that
// met owns, or would own it: token, or that of its execution. The latter differs by
// attempt, so that an invocation from before a takeover is fenced off, also from the
// next attempt of its own execution. A version of the function with a different Ask
// may have written the token of its execution.
func (w *writer) ownerOf(attempt int64, token, met string) string {
	if w.execution == nil {
		return token
	}
	owner := ids.ExecutionOwner(w.id, w.execution.ID, max(attempt, 1))
	if w.execution.Ask != nil {
		owner = ids.NameExecution(owner, w.execution.ID[0])
	}
	if ids.IsSameExecution(met, owner) {
		return met
	}
	return owner
}

// leaseFrom returns the end of a lease that starts now. That of an execution
// lasts as long as the execution may, and at least as long as the invocation.
func (w *writer) leaseFrom(now time.Time) time.Time {
	if w.execution == nil {
		return w.x.times.LeaseFrom(now, w.invocation)
	}
	end := wall(w.execution.Until)
	if w.invocation.After(end) {
		end = w.invocation
	}
	return end.Add(w.x.config.ClockSkew).Truncate(time.Millisecond)
}

// expiresInProgress returns the end of retention for a lease. A record about whose
// execution a call can ask must outlive a pause, which has no limit that we know.
func (w *writer) expiresInProgress(stored, lease time.Time) time.Time {
	if w.execution != nil && w.execution.Ask != nil {
		lease = lease.Add(longestExecution)
	}
	return w.x.times.ExpiresInProgress(stored, lease)
}

// read reads the record within a time.
func (w *writer) read(ctx context.Context, limit time.Duration) (driver.Record, error) {
	return within(ctx, limit, func(ctx context.Context) (driver.Record, error) { return w.get(ctx, w.id) })
}

// A store that does not answer must not take the whole invocation: Lambda would
// kill the process before it has reported the call, or the other records of its
// batch. So on Lambda a claim and its release end Reserve before the invocation.
// In a batch they also leave time for the other records. Elsewhere the caller's
// context bounds a claim.

// unbounded is the time of a try that only its context bounds.
const unbounded = time.Duration(math.MaxInt64)

// within makes one call to the store, which may take as long as limit. After
// that, the store counts as unavailable.
func within(ctx context.Context, limit time.Duration, try func(context.Context) (driver.Record, error)) (driver.Record, error) {
	if limit == unbounded {
		return try(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	met, err := try(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil && !errors.Is(err, driver.ErrUnavailable) {
		err = fmt.Errorf("%w: no answer in %v: %w", driver.ErrUnavailable, limit, err)
	}
	return met, err
}

// claimTime returns how long a try to claim may take. On Lambda it leaves time
// for the release of a claim that is cut off. If the call can continue without
// the store, it leaves time for the handler. The time of a batch does not bound it
// then: that a batch has little time left does not mean that the store is down, and
// the record may be finished.
func (w *writer) claimTime(ctx context.Context) time.Duration {
	limit := unbounded
	if w.x.config.OnStoreError != FailOpen {
		limit = w.startTime(ctx)
	}
	if end := w.claimEnd(ctx, 0); !end.IsZero() {
		left := time.Until(end)
		limit = min(limit, left-min(w.x.longestUnclaim, left/2))
	}
	if w.x.config.OnStoreError == FailOpen {
		limit = min(limit, longestAttempt)
		if deadline, ok := ctx.Deadline(); ok {
			limit = min(limit, time.Until(deadline)/2)
		}
	}
	return limit
}

// readTime returns how long a read for a claim may take.
func (w *writer) readTime(ctx context.Context) time.Duration {
	limit := w.startTime(ctx)
	if end := w.claimEnd(ctx, shortestAttempt); !end.IsZero() {
		limit = min(limit, time.Until(end))
	}
	return limit
}

// unclaimTime returns how long the release of a claim may take. It outlives the
// caller's context.
func (w *writer) unclaimTime(ctx context.Context) time.Duration {
	limit := w.x.longestUnclaim
	if time.Now().Before(w.lastStart) {
		limit = min(limit, w.shareOfStart(0))
	}
	if end := w.claimEnd(ctx, shortestAttempt); !end.IsZero() {
		limit = min(limit, time.Until(end))
	}
	return limit
}

// startTime returns how long a claim or a read may take before the handler starts
// in a batch. Shortly before the last start it is 500 ms, or half of the time that
// is left for the report if that is less: the record may only need a replay.
func (w *writer) startTime(ctx context.Context) time.Duration {
	if w.lastStart.IsZero() {
		return unbounded
	}
	least := 500 * time.Millisecond
	if end := w.claimEnd(ctx, shortestAttempt); !end.IsZero() {
		least = min(least, time.Until(end)/2)
	}
	return w.shareOfStart(least)
}

// shareOfStart returns half of the time until the last start of a batch, as another
// record may need the rest.
func (w *writer) shareOfStart(least time.Duration) time.Duration {
	return min(max(time.Until(w.lastStart)/2, least, shortestAttempt), longestAttempt)
}

// claimEnd returns the time by which a claim and its release end in an
// invocation: the end of the handlers' time or, if that leaves no more than
// least, that of the call's writes. It returns the zero time elsewhere, and in a
// process that has outlived its invocation, which nothing waits for.
func (w *writer) claimEnd(ctx context.Context, least time.Duration) time.Time {
	if w.invocation.IsZero() || !time.Now().Before(w.invocation) {
		return time.Time{}
	}
	if end, _ := w.x.handlerDeadline(ctx, w.invocation); time.Until(end) > least {
		return end
	}
	return w.lastWrite(ctx)
}

// handlerDeadline returns the time at which the context of a handler ends that a call
// with ctx would run in an invocation, and reports whether there is one.
func (x *Executor) handlerDeadline(ctx context.Context, invocation time.Time) (deadline time.Time, ok bool) {
	deadline, ok = ctx.Deadline()
	if invocation.IsZero() || x.disabled {
		return deadline, ok
	}
	end := x.times.HandlerEnd(invocation, invocation)
	if ok && deadline.Before(end) {
		return deadline, true
	}
	return end, true
}
