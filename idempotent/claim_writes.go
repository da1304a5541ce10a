package idempotent

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/bounds"
	"github.com/lambda-once/once/idempotent/internal/ids"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// The writes that take a record and give it back.

// createAs creates the record.
func (w *writer) createAs(ctx context.Context, a *claiming, request []byte) protocol.Reply {
	fresh := driver.Record{
		ID: w.id, Status: driver.InProgress, Owner: a.owner, Attempt: 1, Lease: a.lease,
		Expires: w.expiresInProgress(time.Time{}, a.lease), Began: time.UnixMilli(a.now.UnixMilli()), Fingerprint: w.fingerprint, Request: request,
	}
	return replyOf(w.x.store.Create(ctx, fresh, a.now.Add(-w.x.config.ClockSkew), nil))
}

// takeOver takes over a record whose lease has lapsed.
func (w *writer) takeOver(ctx context.Context, owner string, lapsed driver.Record, now time.Time) protocol.Reply {
	lease := w.leaseFrom(now)
	fence := driver.Fence{ID: w.id, Owner: lapsed.Owner, Attempt: lapsed.Attempt, Lease: lapsed.Lease}
	change := driver.Change{
		Owner: owner, Lease: lease,
		Expires: w.expiresInProgress(lapsed.Expires, lease), Fingerprint: w.fingerprint,
	}
	if lapsed.Began.IsZero() {
		change.Began = time.UnixMilli(now.UnixMilli())
	}
	return replyOf(w.x.store.Change(ctx, fence, change))
}

// extendOwn extends the lease of an execution for this invocation.
func (w *writer) extendOwn(ctx context.Context, own driver.Record, now time.Time) protocol.Reply {
	lease := w.leaseFrom(now)
	expires := w.expiresInProgress(own.Expires, lease)
	r := replyOf(w.x.store.Change(ctx, driver.Fence{ID: w.id, Owner: own.Owner}, driver.Change{Lease: lease, Expires: expires}))
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
		return w.x.times.LeaseFrom(now, w.Invocation)
	}
	end := wall(w.execution.Until)
	if w.Invocation.After(end) {
		end = w.Invocation
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
	return bounds.Within(ctx, limit, func(ctx context.Context) (driver.Record, error) { return w.get(ctx, w.id) })
}

// sendRelease releases the record. It deletes the record of a first attempt
// that left no trace, so that a corrected request may use the key. Otherwise the
// record stays without an owner, so that attempts count.
func (w *writer) sendRelease(ctx context.Context, l *lease, refund bool) sent {
	ctx, cancel := w.settling(ctx, l)
	defer cancel()
	keep := driver.ReleaseKeep
	if refund {
		keep = driver.ReleaseRefund
	}
	how := keep
	counts := (w.x.config.MaxAttempts > 0 || w.x.config.ProviderMemory > 0) && !refund
	if l.record.Attempt == 1 && !counts && w.mode.IsClaimed() && !l.committed && !l.stepped {
		how = driver.ReleaseDelete
	}
	if w.mode.IsDurable() {
		how = keep // a delayed copy of its claim would make the record again, for as long as the execution may run
	}
	s := w.repeat(ctx, &write{
		Policy: w.mode.Tries(&protocol.Releasing), own: l.record, unacknowledged: !w.mode.IsClaimed(),
		send: func(ctx context.Context, ruling protocol.Ruling, _ driver.Record) protocol.Reply {
			if ruling == protocol.KeepSteps {
				how = keep // finished steps must not run again
			}
			return w.tryChange(ctx, l, driver.Change{Release: how})
		},
	})
	if s.Ruling == protocol.Unknown {
		// The caller needs the handler's error, the observer both.
		l.unreleased = &StoreError{Op: "release", Executed: true, Err: s.Err}
		w.tally.suppress(l.unreleased)
	}
	return s
}

// unclaim removes a claim under which nothing ran. The next call need not wait
// for its lease, and it does not count as an attempt. The record of a first
// attempt is deleted: MaxAttempts and ProviderMemory would make its retention endless.
//
// A claim of a durable execution stays: it is that of earlier invocations too.
func (w *writer) unclaim(ctx context.Context, owner string, how driver.Release) {
	if w.mode.IsDurable() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.UnclaimTime(ctx))
	defer cancel()
	s := w.repeat(ctx, &write{
		Policy: &protocol.Unclaiming, own: driver.Record{Owner: owner},
		send: func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
			return replyOf(w.x.store.Change(ctx, driver.Fence{ID: w.id, Owner: owner}, driver.Change{Release: how}))
		},
	})
	if s.last != nil {
		w.tally.suppress(&StoreError{Op: "release", Err: s.last})
	}
}

// reclaim takes the record again under a new owner, before steps are undone
// after a transaction was sent. Otherwise a delayed copy of the transaction could
// commit the effects that are being undone. So could an earlier invocation of a durable
// execution, which may have sent one, or may complete the record when it thaws.
// The attempt is refunded, because it continues.
func (w *writer) reclaim(ctx context.Context, l *lease) error {
	ctx, cancel := w.settling(ctx, l)
	defer cancel()
	s := w.repeat(ctx, &write{
		Policy: &protocol.ReclaimRelease, own: l.record,
		send: func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
			return w.tryChange(ctx, l, driver.Change{Release: driver.ReleaseRefund})
		},
	})
	if err := w.reclaimFailed("release", l, s); err != nil {
		return err
	}
	free, own := l.record, l.record
	free.Owner, free.Lease = "", driver.LeaseEnded
	own.Owner = w.ownerOf(own.Attempt+1, rand.Text(), "")
	s = w.repeat(ctx, &write{
		Policy: &protocol.ReclaimTakeover, own: own,
		send: func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
			return try(ctx, func(ctx context.Context) protocol.Reply {
				return w.takeOver(ctx, own.Owner, free, wall(time.Now()))
			})
		},
	})
	if err := w.reclaimFailed("take over", l, s); err != nil {
		return err
	}
	l.record = s.Met
	l.frame.steps.setOwner(s.Met)
	return nil
}

func (w *writer) reclaimFailed(op string, l *lease, s sent) error {
	switch s.Ruling {
	case protocol.Done:
		return nil
	case protocol.Yield:
		return w.leaseLost(l)
	default:
		return &StoreError{Op: op, Executed: true, Err: s.Err}
	}
}
