package idempotent

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// optimistic runs the handler without a claim (see Config.Optimistic): what it
// does is its transaction, which also creates the record, if there is none.
func (c *call) optimistic(ctx context.Context) ending {
	if ctx.Err() != nil {
		return ending{outcome: OutcomeFailed, err: &StoreError{Op: "run", Err: context.Cause(ctx)}}
	}
	l := c.leaseOf(ctx, &lease{
		record:     driver.Record{ID: c.id, Status: driver.InProgress, Owner: rand.Text(), Fingerprint: c.fingerprint},
		invocation: c.x.invocationEnd(ctx), unconfirmed: true, optimistic: true,
	})
	with, err := c.run(ctx, l)
	return c.settle(ctx, l, with, err)
}

// commitNew commits what the handler attached together with a new, completed
// record, in a call that knows of no record of its own.
func (c *call) commitNew(ctx context.Context, l *lease, with driver.Attachment) (*driver.Rejected, ending) {
	end := c.completion(ctx, c.asClaimedNow(l), func(driver.Change) {})
	if with != nil {
		end.With = with // a nil Attachment in an any is not nil
	}
	s := c.put(ctx, l, end)
	switch s.ruling {
	case done:
		l.record.Attempt = 1
		c.event.Attempt = 1
		return nil, c.recorded(l, s.met)
	case landed:
		// The claim that failed open had landed.
		l.record, l.unconfirmed = s.met, false
		c.event.Attempt = s.met.Attempt
		return c.commit(ctx, l, with)
	case another:
		return nil, c.yieldTo(ctx, l, s.met)
	case notWritten:
		return nil, c.nothingCommitted(s.err)
	}
	refused, ok := errors.AsType[*driver.Rejected](s.err)
	if ok && s.ruling == unknown {
		// A copy of an earlier try may still arrive. Only a stored failure
		// stands in its way: nothing else fences it.
		ok = !c.x.config.ReleasePermanent && l.in.classify(refused.Err).permanent
	}
	if ok {
		return refused, ending{}
	}
	return nil, c.outcomeUnknown(s.err)
}

// failOptimistic stores the failure of a run without a claim.
func (c *call) failOptimistic(ctx context.Context, l *lease, cause error) ending {
	end, err := c.failure(ctx, c.asClaimedNow(l), cause, nil)
	if err == nil {
		s := c.put(ctx, l, end)
		switch err = s.err; s.ruling {
		case done:
			c.event.Attempt = 1
			c.share(s.met)
			return ending{outcome: OutcomeFailed, err: bare(cause)}
		case landed, another:
			c.suppress(bare(cause))
			return c.yieldTo(ctx, l, s.met)
		}
	}
	return ending{outcome: OutcomeUnknown, err: &StoreError{Op: "fail", Executed: true, Err: err, Handler: bare(cause)}}
}

// yieldTo ends a run that met another's record. Nothing of the run was written,
// so an optimistic call may begin again, with a claim.
func (c *call) yieldTo(ctx context.Context, l *lease, met driver.Record) ending {
	verdict := decide(met, "", c.fingerprint, wall(c.now), &c.x.config)
	switch {
	case verdict == replayRecord || verdict == refuseReuse || verdict == refuseUnknown:
		return c.withoutRun(ctx, verdict, met)
	case !l.optimistic || verdict == awaitOwner && c.longestWait(ctx) <= 0:
		return c.inProgress(met, nil)
	}
	return ending{claimFirst: true}
}

// put creates the finished record of a run without a claim. What is sent again
// is the same, so that it is done once.
func (c *call) put(ctx context.Context, l *lease, end driver.Change) sent {
	ctx, cancel := c.settling(ctx, c.asClaimedNow(l))
	defer cancel()
	now := wall(c.look())
	end.Expires = c.x.expiresFinished(now)
	fresh := c.finishedRecord(l, end)
	cutoff := now.Add(-c.x.config.ClockSkew)
	s := c.x.repeat(ctx, write{
		policy: &creating, own: l.record, unacknowledged: c.unacknowledged,
		wrote: func(met driver.Record) bool { return wrote(met, l, end) },
		send: func(ctx context.Context, _ ruling, _ driver.Record) reply {
			return try(ctx, func(ctx context.Context) (driver.Record, bool, error) {
				return c.create(ctx, fresh, cutoff, end.With)
			})
		},
	})
	c.unacknowledged = s.unacknowledged
	return s
}

// asClaimedNow returns the lease that a claim would get now: a run without one
// has as much time to settle. The clock was last looked at before the run.
func (c *call) asClaimedNow(l *lease) *lease {
	return &lease{record: driver.Record{Lease: c.x.leaseFrom(wall(time.Now()), l.invocation)}, invocation: l.invocation}
}

// commitAlone commits what a handler attached that runs without a record.
func (c *call) commitAlone(ctx context.Context, in *inside, with driver.Attachment) (*driver.Rejected, ending) {
	ctx, cancel := c.settling(ctx, c.asClaimedNow(&lease{invocation: in.invocation}))
	defer cancel()
	s := c.x.repeat(ctx, write{
		policy: &committingAlone,
		send: func(ctx context.Context, _ ruling, _ driver.Record) reply {
			return try(ctx, func(ctx context.Context) (driver.Record, bool, error) {
				defer c.count()
				err := c.x.transactional.Commit(ctx, c.id, with)
				return driver.Record{}, err == nil, err
			})
		},
	})
	var refused *driver.Rejected
	switch {
	case s.ruling == done:
		return nil, ending{outcome: OutcomeBypassed}
	case s.ruling == rejected && errors.As(s.err, &refused):
		return refused, ending{}
	case s.ruling == notWritten:
		return nil, c.nothingCommitted(s.err)
	default:
		return nil, c.outcomeUnknown(s.err)
	}
}
