package idempotent

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// sendRelease releases the record. It deletes the record of a first attempt
// that left no trace. Otherwise the record stays without an owner, so that
// attempts count.
func (w *writer) sendRelease(ctx context.Context, l *lease, refund bool) sent {
	ctx, cancel := w.settling(ctx, l)
	defer cancel()
	keep := driver.ReleaseKeep
	if refund {
		keep = driver.ReleaseRefund
	}
	how := keep
	if l.record.Attempt == 1 && w.x.config.MaxAttempts == 0 && l.mode.Hold == protocol.Claimed && !l.committed && !l.stepped {
		how = driver.ReleaseDelete
	}
	if w.owner != protocol.OneCall {
		how = keep // a delayed copy of its claim would make the record again, for as long as the execution may run
	}
	s := w.x.repeat(ctx, write{
		Policy: l.mode.Tries(&protocol.Releasing), own: l.record, unacknowledged: l.mode.Hold != protocol.Claimed,
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
// attempt is deleted: MaxAttempts would make its retention endless.
//
// A claim of a durable execution stays: it is that of earlier invocations too.
func (w *writer) unclaim(ctx context.Context, owner string, how driver.Release) {
	if w.owner != protocol.OneCall {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.unclaimTime(ctx))
	defer cancel()
	s := w.x.repeat(ctx, write{
		Policy: &protocol.Unclaiming, own: driver.Record{Owner: owner},
		send: func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
			return w.change(ctx, driver.Fence{ID: w.id, Owner: owner}, driver.Change{Release: how})
		},
	})
	if s.last != nil {
		w.tally.suppress(&StoreError{Op: "release", Err: s.last})
	}
}

// reclaim takes the record again under a new owner, before steps are undone
// after a transaction was sent. Otherwise a late copy of the transaction could
// commit what is being undone. So could an earlier invocation of a durable
// execution, which may have sent one, or may complete the record when it thaws.
// The attempt is refunded, because it continues.
func (w *writer) reclaim(ctx context.Context, l *lease) error {
	ctx, cancel := w.settling(ctx, l)
	defer cancel()
	s := w.x.repeat(ctx, write{
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
	s = w.x.repeat(ctx, write{
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
