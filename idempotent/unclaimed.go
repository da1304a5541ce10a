package idempotent

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// runUnclaimed runs the handler without a claim (see Config.Optimistic): what
// it does is its transaction, which writes the record too, where there is none.
func (c *call) runUnclaimed(ctx context.Context) ending {
	if ctx.Err() != nil {
		return ending{OutcomeFailed, &StoreError{Op: "run", Err: context.Cause(ctx)}}
	}
	h := &hold{
		record:     driver.Record{ID: c.id, Status: driver.InProgress, Owner: rand.Text(), Fingerprint: c.fingerprint},
		invocation: c.x.invocationEnd(ctx), open: true, optimistic: true,
	}
	in := c.inside(ctx, h)
	with, err := in.frozen(c.underLease(ctx, h, in, c.work.run))
	if err != nil {
		return c.settleUnclaimed(ctx, h, in, err)
	}
	return c.commitUnclaimed(ctx, h, in, with)
}

// settleUnclaimed stores a failure for good. After any other error there is
// nothing to give up.
func (c *call) settleUnclaimed(ctx context.Context, h *hold, in *inside, err error) ending {
	asks := in.judge(err)
	c.event.Permanent = asks.permanent
	if !asks.permanent || c.x.config.ReleasePermanent {
		c.cutOff = c.cutOff && !asks.retryable
		return ending{OutcomeReleased, unmarked(c.timedOut(h, err))}
	}
	return c.failUnclaimed(ctx, h, err)
}

// commitUnclaimed commits what the handler has attached together with a new,
// completed record.
func (c *call) commitUnclaimed(ctx context.Context, h *hold, in *inside, with driver.Attachment) ending {
	end := c.encoded(ctx, c.unclaimed(h), func(driver.Change) {})
	if with != nil {
		end.With = with // a nil Attachment in an any is not nil
	}
	s := c.put(ctx, h, end)
	switch s.ruling {
	case done:
		h.record.Attempt = 1
		c.event.Attempt = 1
		return c.recorded(h, s.met)
	case landed:
		// The claim that failed open had landed.
		h.record, h.open = s.met, false
		c.event.Attempt = s.met.Attempt
		refused, e := c.commit(ctx, h, with)
		if refused != nil {
			return c.settle(ctx, h, in, refused.Err)
		}
		return e
	case another:
		return c.answerUnclaimed(ctx, s.met)
	case notWritten:
		return c.nothingCommitted(s.err)
	}
	var refused *driver.Rejected
	if !errors.As(s.err, &refused) ||
		// A copy of an earlier try may still arrive; a stored failure stands in
		// its way.
		s.ruling == unknown && (c.x.config.ReleasePermanent || !in.judge(refused.Err).permanent) {
		// There is nothing to fence: a copy of it may still arrive.
		return c.outcomeUnknown(s.err)
	}
	if h.optimistic {
		return c.settleUnclaimed(ctx, h, in, refused.Err)
	}
	return c.settle(ctx, h, in, refused.Err)
}

func (c *call) failUnclaimed(ctx context.Context, h *hold, cause error) ending {
	end, err := c.failed(ctx, c.unclaimed(h), cause, nil)
	if err == nil {
		s := c.put(ctx, h, end)
		switch err = s.err; s.ruling {
		case done:
			c.event.Attempt = 1
			c.share(s.met)
			return ending{OutcomeFailed, unmarked(cause)}
		case landed, another:
			c.passOver(unmarked(cause))
			return c.answerUnclaimed(ctx, s.met)
		}
	}
	return ending{OutcomeUnknown, &StoreError{Op: "fail", Executed: true, Err: err, Handler: unmarked(cause)}}
}

// answerUnclaimed is for a run that met another's record: nothing of it was
// written, so the call may begin again, with a claim.
func (c *call) answerUnclaimed(ctx context.Context, met driver.Record) ending {
	verdict := decide(met, "", c.fingerprint, wall(c.now), &c.x.config)
	switch {
	case verdict == replayRecord || verdict == refuseReuse || verdict == refuseUnknown:
		return c.answerWithoutRun(ctx, verdict, met)
	case c.claims || verdict == awaitOwner && c.longestWait(ctx) <= 0:
		return c.inProgress(met, nil)
	}
	return c.leadClaimed(ctx)
}

// put creates the finished record of a run without a claim. What is sent again
// is the same, so that it is done once.
func (c *call) put(ctx context.Context, h *hold, end driver.Change) sent {
	ctx, cancel := c.finishing(ctx, c.unclaimed(h))
	defer cancel()
	now := wall(c.look())
	end.Expires = c.x.expiresFinished(now)
	fresh := c.finishedRecord(h, end)
	over := now.Add(-c.x.config.ClockSkew)
	s := c.x.repeat(ctx, write{
		policy: &creating, own: h.record, unacknowledged: c.unheard,
		wrote: func(met driver.Record) bool { return wrote(met, h, end) },
		send: func(ctx context.Context, _ ruling, _ driver.Record) reply {
			return c.try(ctx, func(ctx context.Context) (driver.Record, bool, error) {
				return c.createWith(ctx, fresh, over, end.With)
			})
		},
	})
	c.unheard = s.unacknowledged
	return s
}

// unclaimed gives the end of a run without a claim the time that it would have
// with one. The clock was last looked at before the run.
func (c *call) unclaimed(h *hold) *hold {
	return &hold{record: driver.Record{Lease: c.x.leaseFrom(wall(time.Now()), h.invocation)}, invocation: h.invocation}
}

// commitAlone commits what a handler has attached that runs without a record.
func (c *call) commitAlone(ctx context.Context, in *inside, with driver.Attachment) (*driver.Rejected, ending) {
	ctx, cancel := c.finishing(ctx, c.unclaimed(&hold{invocation: in.invocation}))
	defer cancel()
	s := c.x.repeat(ctx, write{
		policy: &committingAlone,
		send: func(ctx context.Context, _ ruling, _ driver.Record) reply {
			return c.try(ctx, func(ctx context.Context) (driver.Record, bool, error) {
				defer c.count()
				err := c.x.transactional.Commit(ctx, c.id, with)
				return driver.Record{}, err == nil, err
			})
		},
	})
	var refused *driver.Rejected
	switch {
	case s.ruling == done:
		return nil, ending{OutcomeBypassed, nil}
	case s.ruling == rejected && errors.As(s.err, &refused):
		return refused, ending{}
	case s.ruling == notWritten:
		return nil, c.nothingCommitted(s.err)
	default:
		return nil, c.outcomeUnknown(s.err)
	}
}
