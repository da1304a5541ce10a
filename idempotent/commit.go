package idempotent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// commit completes the record and the handler's writes in one transaction:
// success is the commit, and not the handler's return. Unlike a completion, it
// leaves a record that is no longer ours, and recreates none. It returns a
// rejected attachment, to be settled like an error of the handler. If the codec exits
// the goroutine, the record is released.
func (c *call) commit(ctx context.Context, l *lease, with driver.Attachment) (*driver.Rejected, conclusion) {
	change := c.completion(ctx, l, func(driver.Change) {
		l.frame.discard() // the release must not wait for its connection
		c.abandoned = c.released(c.sendRelease(ctx, l, false))
	})
	// Set once, because a repeated request must be the same to the last bit.
	change.Expires, change.With = c.x.times.ExpiresFinished(c.look()), with
	l.committed = true
	s := c.sendCommit(ctx, l, change)
	var refused *driver.Rejected
	switch {
	case s.Ruling == protocol.Rejected && errors.As(s.Err, &refused):
		return refused, conclusion{}
	case s.OK:
		return nil, c.recorded(l, s.Met)
	}
	cause := s.Err
	switch {
	case s.Ruling != protocol.Unknown:
	case c.isOver(ctx):
		// The next invocation has the same fence, and finds out.
		return nil, conclusion{outcome: OutcomeSuspended, err: &StoreError{Op: "commit", Executed: true, Err: cause}}
	default:
		s = c.decideCommit(ctx, l, change, s.unacknowledged)
	}
	return nil, c.commitDecided(ctx, l, s, cause)
}

// rejection returns the error of a rejected attachment as one of the handler.
func rejection(r *driver.Rejected) error {
	err := r.Err
	if err == nil {
		err = r // a store without a reason must not turn into a success
	}
	if r.Retryable {
		return Retryable(err)
	}
	return err
}

// commitDecided ends a commit that its own answer did not decide.
func (c *call) commitDecided(ctx context.Context, l *lease, s sent, cause error) conclusion {
	switch s.Ruling {
	case protocol.Done:
		return c.recorded(l, s.Met)
	case protocol.TakeTheirs:
		return c.replaySuccessor(ctx, s.Met)
	case protocol.Vanished:
		// It may have been committed, and the record removed since.
		return c.outcomeUnknown(errors.Join(errRecordGone, cause))
	case protocol.NotWritten:
		return nothingCommitted(cause)
	case protocol.Yield:
		return conclusion{outcome: OutcomeLeaseLost, err: c.leaseLost(l)}
	default:
		return conclusion{outcome: OutcomeUnknown, err: &StoreError{Op: "commit", Executed: true, Err: joined(cause, s.Err)}}
	}
}

var errRecordGone = errors.New("its record is gone; check what was done before you retry")

func nothingCommitted(cause error) conclusion {
	if cause == nil {
		cause = fmt.Errorf("%w: another attempt owned the record", driver.ErrUnavailable)
	}
	return conclusion{outcome: OutcomeReleased, err: &StoreError{Op: "commit", RolledBack: true, Err: cause}}
}

// optimistic runs the handler without a claim (see Config.Optimistic). Its
// transaction also creates the record, if there is none.
func (c *call) optimistic(ctx context.Context) conclusion {
	if ctx.Err() != nil {
		return conclusion{outcome: OutcomeFailed, err: &StoreError{Op: "run", Err: context.Cause(ctx)}}
	}
	l := c.startLease(protocol.Optimistic, driver.Record{ID: c.id, Status: driver.InProgress, Owner: rand.Text(), Fingerprint: c.fingerprint})
	if e, ends := c.endsOptimistic(ctx, l); ends {
		return e
	}
	return c.run(ctx, l)
}

// endsOptimistic ends an optimistic call whose record needs no run, or needs a
// claim, as one that met the record in its transaction. It reports false if the
// handler is to run.
func (c *call) endsOptimistic(ctx context.Context, l *lease) (conclusion, bool) {
	if !c.readsFirst && !c.onlyTakesOver() {
		return conclusion{}, false
	}
	met, e := c.readFirst(ctx)
	if e.outcome != "" {
		return e, true
	}
	if c.claimant("").Decide(met) == protocol.ClaimAnew {
		return conclusion{}, false
	}
	return c.yieldTo(ctx, l, met), true
}

// commitNew commits the attachment together with a new, completed record, in a
// call that may have no record of its own.
func (c *call) commitNew(ctx context.Context, l *lease, with driver.Attachment) (*driver.Rejected, conclusion) {
	c.look()
	if with != nil && c.mode.IsOptimistic() && c.onlyTakesOver() {
		// Since it began to run: the record of an earlier call may have expired meanwhile.
		return nil, conclusion{claimFirst: true}
	}
	change := c.completion(ctx, c.asClaimedNow(), func(driver.Change) {})
	change.With = with
	s := c.sendCreate(ctx, l, change)
	switch s.Ruling {
	case protocol.Done:
		l.record.Attempt = 1
		c.attempt = 1
		return nil, c.recorded(l, s.Met)
	case protocol.Landed:
		// The claim that failed open had landed.
		l.record, c.mode.Hold = s.Met, protocol.Claimed
		c.attempt = s.Met.Attempt
		return c.commit(ctx, l, with)
	case protocol.Another:
		c.repeated = with == nil
		return nil, c.yieldTo(ctx, l, s.Met)
	case protocol.NotWritten:
		return nil, nothingCommitted(s.Err)
	}
	refused, ok := errors.AsType[*driver.Rejected](s.Err)
	if ok && s.Ruling == protocol.Unknown {
		// An earlier try may still arrive. Only a stored failure fences it.
		ok = !c.x.config.ReleasePermanent && l.frame.classify(refused.Err).permanent
	}
	if ok {
		return refused, conclusion{}
	}
	return nil, c.outcomeUnknown(s.Err)
}

// createFailure stores the failure of a run without a claim.
func (c *call) createFailure(ctx context.Context, l *lease, cause error) conclusion {
	c.look()
	if !c.unacknowledged && c.mode.IsOptimistic() && c.onlyTakesOver() {
		// As in commitNew. Behind a commit without an answer, only the failure is a fence.
		c.permanent = false
		c.tally.suppress(bare(cause))
		return conclusion{claimFirst: true}
	}
	change, err := c.failure(ctx, c.asClaimedNow(), cause, nil)
	if err == nil {
		s := c.sendCreate(ctx, l, change)
		switch err = s.Err; s.Ruling {
		case protocol.Done:
			c.attempt = 1
			c.share(s.Met)
			return conclusion{outcome: OutcomeFailed, err: bare(cause)}
		case protocol.Landed, protocol.Another:
			c.tally.suppress(bare(cause))
			return c.yieldTo(ctx, l, s.Met)
		}
	}
	return conclusion{outcome: OutcomeUnknown, err: &StoreError{Op: "fail", Executed: true, Err: err, Handler: bare(cause)}}
}

// yieldTo ends a run that met a record of a different call. Nothing of the run was
// written, so an optimistic call may begin again with a claim.
func (c *call) yieldTo(ctx context.Context, l *lease, met driver.Record) conclusion {
	c.permanent = false // the caller receives a different error
	verdict := c.claimant("").Decide(met)
	switch {
	case verdict == protocol.ReplayRecord || verdict == protocol.RefuseReuse || verdict == protocol.RefuseUnknown:
		return c.withoutRun(ctx, verdict, met)
	case !c.mode.IsOptimistic() || verdict == protocol.AwaitOwner && c.longestWait() <= 0:
		return c.inProgress(met, nil)
	case verdict == protocol.RefuseLate: // and not for a run that failed open, and had its effects
		return c.withoutRun(ctx, verdict, met)
	}
	return conclusion{claimFirst: true}
}

// commitAlone commits the attachment of a handler that runs without a record.
func (c *call) commitAlone(ctx context.Context, with driver.Attachment) (*driver.Rejected, conclusion) {
	s := c.sendAlone(ctx, with)
	var refused *driver.Rejected
	switch {
	case s.Ruling == protocol.Done:
		return nil, conclusion{outcome: OutcomeBypassed}
	case s.Ruling == protocol.Rejected && errors.As(s.Err, &refused):
		return refused, conclusion{}
	case s.Ruling == protocol.NotWritten:
		return nil, nothingCommitted(s.Err)
	default:
		return nil, c.outcomeUnknown(s.Err)
	}
}
