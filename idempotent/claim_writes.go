package idempotent

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// tryClaim sends one write that makes the call the owner of the record. It
// returns the record that the write left, or the one that it met.
func (w *writer) tryClaim(ctx context.Context, owner string, send func(context.Context) (driver.Record, bool, error)) (driver.Record, error) {
	return within(ctx, w.claimTime(ctx), func(ctx context.Context) (driver.Record, error) {
		s := w.x.repeat(ctx, write{
			Policy: &protocol.Claiming, own: driver.Record{Owner: owner},
			send: func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply { return reply(send(ctx)) },
		})
		return s.Met, s.last
	})
}

// createAs creates the record.
func (w *writer) createAs(ctx context.Context, owner string, now time.Time) (driver.Record, bool, error) {
	lease := w.leaseFrom(now)
	fresh := driver.Record{
		ID: w.id, Status: driver.InProgress, Owner: owner, Attempt: 1, Lease: lease,
		Expires: w.expiresInProgress(time.Time{}, lease), Fingerprint: w.fingerprint,
	}
	return w.create(ctx, fresh, now.Add(-w.x.config.ClockSkew), nil)
}

// takeOver takes over a record whose lease has lapsed.
func (w *writer) takeOver(ctx context.Context, owner string, lapsed driver.Record, now time.Time) (driver.Record, bool, error) {
	lease := w.leaseFrom(now)
	fence := driver.Fence{ID: w.id, Owner: lapsed.Owner, Attempt: lapsed.Attempt, Lease: lapsed.Lease}
	return w.change(ctx, fence, driver.Change{
		Owner: owner, Lease: lease,
		Expires: w.expiresInProgress(lapsed.Expires, lease), Fingerprint: w.fingerprint,
	})
}

// extendOwn extends the lease of an execution for this invocation.
func (w *writer) extendOwn(ctx context.Context, own driver.Record, now time.Time) (driver.Record, bool, error) {
	lease := w.leaseFrom(now)
	expires := w.expiresInProgress(own.Expires, lease)
	met, ok, err := w.change(ctx, driver.Fence{ID: w.id, Owner: own.Owner}, driver.Change{Lease: lease, Expires: expires})
	if !ok {
		return met, false, err
	}
	own.Lease, own.Expires = lease, expires
	return own, true, err
}

// ownerOf returns the token with which the call owns an attempt of the record:
// token, or that of its execution. The latter differs by attempt, so that an
// invocation from before a takeover is fenced off, also from the next attempt of
// its own execution.
func (w *writer) ownerOf(attempt int64, token string) string {
	if w.execution == nil {
		return token
	}
	owner := protocol.ExecutionOwner(w.id, w.execution.ID, max(attempt, 1))
	if w.execution.Ask != nil {
		owner = protocol.NameExecution(owner, w.execution.ID[0])
	}
	return owner
}

// ownerIn returns the token with which the call owns the record that it met, or would
// own it. The claim of its own execution may be of a version with another Ask.
func (w *writer) ownerIn(met driver.Record, token string) string {
	owner := w.ownerOf(met.Attempt, token)
	if w.execution != nil && protocol.IsSameExecution(met.Owner, owner) {
		return met.Owner
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
