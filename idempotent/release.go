package idempotent

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// release releases the record after an error that permits a retry.
func (c *call) release(ctx context.Context, l *lease, cause error, refund bool) ending {
	cause = bare(cause)
	if l.optimistic {
		return ending{outcome: OutcomeReleased, err: cause} // there is no record
	}
	s := c.sendRelease(ctx, l, refund)
	switch s.Ruling {
	case protocol.TakeTheirs:
		c.suppress(cause)
		return c.replaySuccessor(ctx, s.Met)
	case protocol.Yield:
		c.suppress(cause)
		return c.leaseLost(l)
	}
	if l.committed && l.unreleased != nil {
		// Under a live lease a late copy of the transaction would be committed.
		cause = &StoreError{Op: "release", Executed: true, Err: l.unreleased, Handler: cause}
	}
	return ending{outcome: released(l, s), err: cause}
}

// released returns the outcome of a release.
func released(l *lease, s sent) Outcome {
	switch {
	case s.Ruling == protocol.TakeTheirs, s.Ruling == protocol.Yield:
		return OutcomeLeaseLost
	case l.unconfirmed:
		return OutcomeBypassed
	case s.Ruling == protocol.Unknown:
		return OutcomeUnknown
	default:
		return OutcomeReleased
	}
}

var errPanicked = errors.New("idempotent: the handler panicked")

// abandon releases the record during a panic.
func (c *call) abandon(ctx context.Context, l *lease) {
	c.suppress(errPanicked)
	unacknowledged, stopped := l.in.steps.unacknowledged(), l.in.steps.stoppedBy()
	switch {
	case c.leaves(ctx, l, errPanicked):
		c.abandoned = OutcomeSuspended
	case l.optimistic:
		c.abandoned = OutcomeReleased
	case unacknowledged != nil:
		c.abandoned = OutcomeUnknown
		c.suppress(unacknowledged)
	case stopped != nil && l.in.steps.failed == nil:
		// No later attempt could undo it. A panic of the undo returns here.
		e := c.failForGood(ctx, l, stopped)
		if c.abandoned = e.outcome; e.err != nil {
			c.suppress(e.err)
		}
	default:
		c.abandoned = released(l, c.sendRelease(ctx, l, false))
	}
}

// keepClaimed ends a run with a finished step that may not be recorded. It does
// not release the record: the next attempt would repeat the step while the
// write may still arrive.
func (c *call) keepClaimed(unacknowledged *StoreError, cause error) ending {
	failed := *unacknowledged
	if cause = bare(cause); cause != error(unacknowledged) {
		failed.Handler = cause
	}
	return ending{outcome: OutcomeUnknown, err: &failed}
}

// sendRelease releases the record. It deletes the record of a first attempt
// that left no trace. Otherwise the record stays without an owner, so that
// attempts count.
func (c *call) sendRelease(ctx context.Context, l *lease, refund bool) sent {
	ctx, cancel := c.settling(ctx, l)
	defer cancel()
	keep := driver.ReleaseKeep
	if refund {
		keep = driver.ReleaseRefund
	}
	how := keep
	if l.record.Attempt == 1 && c.x.config.MaxAttempts == 0 && !l.unconfirmed && !l.committed && !l.stepped {
		how = driver.ReleaseDelete
	}
	if c.execution != nil {
		how = keep // a delayed copy of its claim would make the record again, for as long as the execution may run
	}
	rules := &protocol.Releasing
	if l.unconfirmed {
		rules = rules.Once()
	}
	s := c.x.repeat(ctx, write{
		Policy: rules, own: l.record, unacknowledged: l.unconfirmed,
		send: func(ctx context.Context, ruling protocol.Ruling, _ driver.Record) protocol.Reply {
			if ruling == protocol.KeepSteps {
				how = keep // finished steps must not run again
			}
			c.look()
			return c.tryChange(ctx, l, driver.Change{Release: how})
		},
	})
	if s.Ruling == protocol.Unknown {
		// The caller needs the handler's error, the observer both.
		l.unreleased = &StoreError{Op: "release", Executed: true, Err: s.Err}
		c.suppress(l.unreleased)
	}
	return s
}

// unclaim removes a claim under which nothing ran. The next call need not wait
// for its lease, and it does not count as an attempt. The record of a first
// attempt is deleted: MaxAttempts would make its retention endless.
//
// A claim of a durable execution stays: it is that of earlier invocations too.
func (c *call) unclaim(ctx context.Context, owner string, how driver.Release) {
	if c.execution != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.unclaimTime(ctx))
	defer cancel()
	var r protocol.Reply
	c.x.repeat(ctx, write{
		Policy: &protocol.Unclaiming, own: driver.Record{Owner: owner},
		send: func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
			c.look()
			r.Met, r.OK, r.Err = c.change(ctx, driver.Fence{ID: c.id, Owner: owner}, driver.Change{Release: how})
			return r
		},
	})
	if r.Err != nil {
		c.suppress(&StoreError{Op: "release", Err: r.Err})
	}
}

// reclaim takes the record again under a new owner, before steps are undone
// after a transaction was sent. Otherwise a late copy of the transaction could
// commit what is being undone. So could an earlier invocation of a durable
// execution, which may have sent one, or may complete the record when it thaws.
// The attempt is refunded, because it continues.
func (c *call) reclaim(ctx context.Context, l *lease) error {
	ctx, cancel := c.settling(ctx, l)
	defer cancel()
	s := c.x.repeat(ctx, write{
		Policy: &protocol.ReclaimRelease, own: l.record,
		send: func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
			return c.tryChange(ctx, l, driver.Change{Release: driver.ReleaseRefund})
		},
	})
	if err := c.reclaimFailed("release", l, s); err != nil {
		return err
	}
	free, own := l.record, l.record
	free.Owner, free.Lease = "", driver.LeaseEnded
	own.Owner = c.ownerOf(own.Attempt+1, rand.Text())
	s = c.x.repeat(ctx, write{
		Policy: &protocol.ReclaimTakeover, own: own,
		send: func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
			return try(ctx, func(ctx context.Context) (driver.Record, bool, error) {
				met, err := c.takeOverAs(ctx, own.Owner, free, wall(c.look()), l.invocation)
				return met, false, err
			})
		},
	})
	if err := c.reclaimFailed("take over", l, s); err != nil {
		return err
	}
	l.record, c.event.Attempt = s.Met, s.Met.Attempt
	l.in.steps.setOwner(s.Met)
	return nil
}

func (c *call) reclaimFailed(op string, l *lease, s sent) error {
	switch s.Ruling {
	case protocol.Done:
		return nil
	case protocol.Yield:
		return c.leaseLost(l).err
	default:
		return &StoreError{Op: op, Executed: true, Err: s.Err}
	}
}
