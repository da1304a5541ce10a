package idempotent

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// optimistic runs the handler without a claim (see Config.Optimistic). Its
// transaction also creates the record, if there is none.
func (c *call) optimistic(ctx context.Context) ending {
	if ctx.Err() != nil {
		return ending{outcome: OutcomeFailed, err: &StoreError{Op: "run", Err: context.Cause(ctx)}}
	}
	l := c.leaseOf(ctx, &lease{
		record:     driver.Record{ID: c.id, Status: driver.InProgress, Owner: rand.Text(), Fingerprint: c.fingerprint},
		invocation: c.x.invocationEnd(ctx), unconfirmed: true, optimistic: true,
	})
	if e, ends := c.endsOptimistic(ctx, l); ends {
		return e
	}
	with, err := c.run(ctx, l)
	if c.notRun != nil { // there is no claim to release, and no error of the handler
		return ending{outcome: OutcomeNotRun, err: c.notRun}
	}
	return c.settle(ctx, l, with, err)
}

// commitNew commits the attachment together with a new, completed record, in a
// call that may have no record of its own.
func (c *call) commitNew(ctx context.Context, l *lease, with driver.Attachment) (*driver.Rejected, ending) {
	change := c.completion(ctx, c.asClaimedNow(l), func(driver.Change) {})
	change.With = with
	s := c.put(ctx, l, change)
	switch s.Ruling {
	case protocol.Done:
		l.record.Attempt = 1
		c.event.Attempt = 1
		return nil, c.recorded(l, s.Met)
	case protocol.Landed:
		// The claim that failed open had landed.
		l.record, l.unconfirmed = s.Met, false
		c.event.Attempt = s.Met.Attempt
		return c.commit(ctx, l, with)
	case protocol.Another:
		return nil, c.yieldTo(ctx, l, s.Met)
	case protocol.NotWritten:
		return nil, c.nothingCommitted(s.Err)
	}
	refused, ok := errors.AsType[*driver.Rejected](s.Err)
	if ok && s.Ruling == protocol.Unknown {
		// An earlier try may still arrive. Only a stored failure fences it.
		ok = !c.x.config.ReleasePermanent && l.in.classify(refused.Err).permanent
	}
	if ok {
		return refused, ending{}
	}
	return nil, c.outcomeUnknown(s.Err)
}

// failOptimistic stores the failure of a run without a claim.
func (c *call) failOptimistic(ctx context.Context, l *lease, cause error) ending {
	change, err := c.failure(ctx, c.asClaimedNow(l), cause, nil)
	if err == nil {
		s := c.put(ctx, l, change)
		switch err = s.Err; s.Ruling {
		case protocol.Done:
			c.event.Attempt = 1
			c.share(s.Met)
			return ending{outcome: OutcomeFailed, err: bare(cause)}
		case protocol.Landed, protocol.Another:
			c.suppress(bare(cause))
			return c.yieldTo(ctx, l, s.Met)
		}
	}
	return ending{outcome: OutcomeUnknown, err: &StoreError{Op: "fail", Executed: true, Err: err, Handler: bare(cause)}}
}

// yieldTo ends a run that met another's record. Nothing of the run was written,
// so an optimistic call may begin again with a claim.
func (c *call) yieldTo(ctx context.Context, l *lease, met driver.Record) ending {
	verdict := protocol.Decide(met, "", c.fingerprint, wall(c.now).Add(-c.x.config.ClockSkew), c.x.config.MaxAttempts)
	switch {
	case verdict == protocol.ReplayRecord || verdict == protocol.RefuseReuse || verdict == protocol.RefuseUnknown:
		return c.withoutRun(ctx, verdict, met)
	case !l.optimistic || verdict == protocol.AwaitOwner && c.longestWait(ctx) <= 0:
		return c.inProgress(met, nil)
	}
	return ending{claimFirst: true}
}

// put creates the finished record of a run without a claim. Every try sends the
// same request, so that it is executed once.
func (c *call) put(ctx context.Context, l *lease, change driver.Change) sent {
	ctx, cancel := c.settling(ctx, c.asClaimedNow(l))
	defer cancel()
	now := wall(c.look())
	change.Expires = c.x.times.ExpiresFinished(now)
	fresh := c.finishedRecord(l, change)
	cutoff := now.Add(-c.x.config.ClockSkew)
	s := c.x.repeat(ctx, write{
		Policy: &protocol.Creating, own: l.record, unacknowledged: c.unacknowledged,
		wrote: func(met driver.Record) bool { return wrote(met, l, change) },
		send: func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
			return try(ctx, func(ctx context.Context) (driver.Record, bool, error) {
				return c.create(ctx, fresh, cutoff, change.With)
			})
		},
	})
	c.unacknowledged = s.unacknowledged
	return s
}

// asClaimedNow returns the lease that a claim made now would have: a run
// without one has as much time to settle.
func (c *call) asClaimedNow(l *lease) *lease {
	return &lease{record: driver.Record{Lease: c.x.times.LeaseFrom(wall(time.Now()), l.invocation)}, invocation: l.invocation}
}

// commitAlone commits the attachment of a handler that runs without a record.
func (c *call) commitAlone(ctx context.Context, in *inside, with driver.Attachment) (*driver.Rejected, ending) {
	ctx, cancel := c.settling(ctx, c.asClaimedNow(&lease{invocation: in.invocation}))
	defer cancel()
	s := c.x.repeat(ctx, write{
		Policy: &protocol.CommittingAlone,
		send: func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
			return try(ctx, func(ctx context.Context) (driver.Record, bool, error) {
				c.look()
				defer c.count()
				err := c.x.transactional.Commit(ctx, c.id, with)
				return driver.Record{}, err == nil, err
			})
		},
	})
	var refused *driver.Rejected
	switch {
	case s.Ruling == protocol.Done:
		return nil, ending{outcome: OutcomeBypassed}
	case s.Ruling == protocol.Rejected && errors.As(s.Err, &refused):
		return refused, ending{}
	case s.Ruling == protocol.NotWritten:
		return nil, c.nothingCommitted(s.Err)
	default:
		return nil, c.outcomeUnknown(s.Err)
	}
}
