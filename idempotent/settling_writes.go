package idempotent

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/bounds"
	"github.com/lambda-once/once/idempotent/internal/protocol"
	"github.com/lambda-once/once/internal/canonical"
)

// The writes after a run. repeat sends each of them under its policy. The caller acts
// on the ruling.

// settling returns the context of a write that settles a run. It outlives the
// handler's context: the work is recorded even if a client has gone or a lease
// has ended. It ends with the lease, or shortly before the invocation, so that
// the caller still receives the result. A nested call does not use up the outer
// one's Reserve. Each write has time for at least one try.
func (w *writer) settling(ctx context.Context, l *lease) (context.Context, context.CancelFunc) {
	end, least := l.record.Lease, max(w.x.config.Reserve, bounds.ShortestTry)
	switch {
	case end.IsZero(): // failed open: the caller chose to continue without the store
	case !w.Invocation.IsZero():
		least = bounds.ShortestTry
		if last := w.LastWrite(ctx); last.Before(end) {
			end = last
		}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), max(end.Sub(wall(time.Now())), least))
}

// asClaimedNow returns the lease that a claim made now would have: a run
// without one has as much time to settle.
func (w *writer) asClaimedNow() *lease {
	return &lease{record: driver.Record{Lease: w.x.times.LeaseFrom(wall(time.Now()), w.Invocation)}}
}

// tryChange makes one try of a change that our owner fences.
func (w *writer) tryChange(ctx context.Context, l *lease, change driver.Change) protocol.Reply {
	return try(ctx, func(ctx context.Context) protocol.Reply {
		return replyOf(w.x.store.Change(ctx, driver.Fence{ID: w.id, Owner: l.record.Owner}, change))
	})
}

// wrote reports whether the finished record is this call's own work. Our token
// is not enough: an unfenced writer may have changed the result, and every
// caller must receive the same.
func (l *lease) wrote(stored driver.Record, change driver.Change) bool {
	return stored.Owner == l.record.Owner && stored.Status == change.Status &&
		(stored.Unavailable != "" || change.Unavailable == "" && stored.Payload == change.Payload && canonical.Equal(stored.Data, change.Data))
}

// finishedRecord returns the record that a finishing write leaves. According to its
// answer, the store may have left the result out.
func (w *writer) finishedRecord(l *lease, change driver.Change, answer driver.Record) driver.Record {
	r := driver.Record{
		ID: w.id, Status: change.Status, Owner: l.record.Owner,
		Attempt: max(l.record.Attempt, 1), Refunds: l.record.Refunds, Fingerprint: l.record.Fingerprint,
		Expires: change.Expires, Began: l.record.Began, Ended: change.Ended, Data: change.Data, Payload: change.Payload, Unavailable: change.Unavailable,
	}
	if answer.Unavailable != "" {
		r.Data, r.Payload, r.Unavailable = nil, "", answer.Unavailable
	}
	return r
}

// sendFinish completes or fails the record, which change.Expires is set for anew
// at each try. A released record of a successor is adopted, and a record that is
// gone is created again.
func (w *writer) sendFinish(ctx context.Context, l *lease, change driver.Change) sent {
	ctx, cancel := w.settling(ctx, l)
	defer cancel()
	rules := &protocol.Finishing
	if l.committed {
		rules = &protocol.FinishingAfterCommit
	}
	s := w.repeat(ctx, &write{
		Policy: w.mode.Tries(rules), own: l.record,
		wrote: func(met driver.Record) bool { return l.wrote(met, change) },
		send: func(ctx context.Context, how protocol.Ruling, met driver.Record) protocol.Reply {
			now := wall(time.Now())
			change.Expires = w.x.times.ExpiresFinished(now)
			return try(ctx, func(ctx context.Context) protocol.Reply {
				switch how {
				case protocol.Adopt:
					adopted := change
					adopted.Owner, adopted.Fingerprint = l.record.Owner, l.record.Fingerprint
					return replyOf(w.x.store.Change(ctx, driver.Fence{ID: w.id, Attempt: met.Attempt, Lease: met.Lease}, adopted))
				case protocol.Recreate:
					return replyOf(w.x.store.Create(ctx, w.finishedRecord(l, change, driver.Record{}), now.Add(-w.x.config.ClockSkew), nil))
				default:
					return replyOf(w.x.store.Change(ctx, driver.Fence{ID: w.id, Owner: l.record.Owner}, change))
				}
			})
		},
	})
	if s.OK {
		s.Met = w.finishedRecord(l, change, s.Met)
	}
	return s
}

// sendCommit completes the record and the handler's writes in one transaction.
// Every try sends the same request, to the last bit.
func (w *writer) sendCommit(ctx context.Context, l *lease, change driver.Change) sent {
	ctx, cancel := w.committing(ctx, l)
	defer cancel()
	s := w.repeat(ctx, &write{
		Policy: &protocol.Committing, own: l.record,
		wrote: func(met driver.Record) bool { return l.wrote(met, change) },
		send: func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
			return w.tryChange(ctx, l, change)
		},
	})
	if s.OK {
		s.Met = w.finishedRecord(l, change, s.Met)
	}
	return s
}

// committing leaves a third of the time to decide a commit whose answer was
// lost.
func (w *writer) committing(ctx context.Context, l *lease) (context.Context, context.CancelFunc) {
	all, cancel := w.settling(ctx, l)
	deadline, _ := all.Deadline()
	limited, stop := context.WithDeadline(all, deadline.Add(-time.Until(deadline)/3))
	return limited, func() { stop(); cancel() }
}

// decideCommit decides a commit whose outcome is unknown with a release under
// the same fence: only one of the two is applied.
func (w *writer) decideCommit(ctx context.Context, l *lease, change driver.Change, unacknowledged bool) sent {
	ctx, cancel := w.settling(ctx, l)
	defer cancel()
	s := w.repeat(ctx, &write{
		Policy: &protocol.Deciding, own: l.record, unacknowledged: unacknowledged,
		wrote: func(met driver.Record) bool { return l.wrote(met, change) },
		send: func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
			return w.tryChange(ctx, l, driver.Change{Release: driver.ReleaseKeep})
		},
	})
	if s.OK {
		s.Ruling = protocol.NotWritten // the release came first
	}
	return s
}

// sendCreate creates the finished record of a run without a claim, with its
// attachment. Every try sends the same request, so that it is executed once.
func (w *writer) sendCreate(ctx context.Context, l *lease, change driver.Change) sent {
	ctx, cancel := w.settling(ctx, w.asClaimedNow())
	defer cancel()
	now := wall(time.Now())
	change.Expires = w.x.times.ExpiresFinished(now)
	fresh, cutoff := w.finishedRecord(l, change, driver.Record{}), now.Add(-w.x.config.ClockSkew)
	s := w.repeat(ctx, &write{
		Policy: &protocol.Creating, own: l.record, unacknowledged: w.unacknowledged,
		wrote: func(met driver.Record) bool { return l.wrote(met, change) },
		send: func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
			return try(ctx, func(ctx context.Context) protocol.Reply {
				return replyOf(w.x.store.Create(ctx, fresh, cutoff, change.With))
			})
		},
	})
	w.unacknowledged = s.unacknowledged
	return s
}

// sendAlone commits the attachment of a run without a record.
func (w *writer) sendAlone(ctx context.Context, with driver.Attachment) sent {
	ctx, cancel := w.settling(ctx, w.asClaimedNow())
	defer cancel()
	return w.repeat(ctx, &write{
		Policy: &protocol.CommittingAlone,
		send: func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
			return try(ctx, func(ctx context.Context) protocol.Reply {
				err := w.x.transactional.Commit(ctx, w.id, with)
				return protocol.Reply{OK: err == nil, Err: err}
			})
		},
	})
}
