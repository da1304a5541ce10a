package idempotent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// maxRounds bounds the lost races of one claim. After so many winners, "in
// progress" is the truth.
const maxRounds = 10

var errNoTime = fmt.Errorf("the time left is less than Config.Reserve: %w", context.DeadlineExceeded)

// claim makes the call the owner of its record. If the call ends without a run,
// claim returns no lease and the ending.
func (c *call) claim(ctx context.Context) (*lease, ending) {
	var (
		cfg        = &c.x.config
		token      = rand.Text()
		owner      = c.ownerOf(1, token)
		lapsed     bool
		invocation = c.x.invocationEnd(ctx)
		poll       = firstPause
	)
	if ctx.Err() != nil {
		return nil, ending{outcome: OutcomeFailed, err: &StoreError{Op: "claim", Err: context.Cause(ctx)}}
	}
	met, err := c.readFirst(ctx, invocation)
	if err != nil {
		return nil, c.noTime(ctx, err)
	}
	for round := 0; ; {
		now := wall(c.now)
		owner = c.ownerIn(met, token)
		verdict := protocol.Decide(met, owner, c.fingerprint, now.Add(-cfg.ClockSkew), cfg.MaxAttempts)
		if verdict == protocol.ClaimAnew || verdict == protocol.TakeOver {
			if late := c.tooLate(); late != nil {
				return nil, ending{outcome: OutcomeNotRun, err: late}
			}
			if !c.hasTime(ctx, invocation) {
				return nil, c.noTime(ctx, nil)
			}
			if round++; round > maxRounds {
				return nil, c.inProgress(met, nil)
			}
			if round > 1 {
				c.x.pause(ctx, time.Duration(round)*4*time.Millisecond)
				now = wall(c.look())
			}
		}
		switch verdict {
		case protocol.ClaimAnew:
			lapsed, owner = false, c.ownerOf(1, token)
			if met, err = c.within(ctx, c.claimTime(ctx), func(ctx context.Context) (driver.Record, error) {
				return c.createAs(ctx, owner, now, invocation)
			}); err != nil {
				return c.claimFailed(ctx, "claim", owner, driver.ReleaseDelete, false, err)
			}
		case protocol.TakeOver:
			if c.repeats() && len(met.Steps) > 0 {
				return nil, ending{outcome: OutcomeFailed, err: &StepsLeftError{KeyHash: c.hash}}
			}
			if e, ends := c.askFirst(ctx, met, invocation); ends {
				return nil, e
			}
			lapsed = !met.Lease.Equal(driver.LeaseEnded)
			saga := protocol.HasSaga(met.Steps)
			owner = c.ownerOf(max(met.Attempt, 1)+1, token)
			if met, err = c.within(ctx, c.claimTime(ctx), func(ctx context.Context) (driver.Record, error) {
				return c.takeOverAs(ctx, owner, met, now, invocation)
			}); err != nil {
				c.event.Lapsed = lapsed || c.event.Lapsed // it may have landed, and no later call sees it
				return c.claimFailed(ctx, "take over", owner, driver.ReleaseRefund, saga, err)
			}
		case protocol.AwaitOwner:
			if c.longestWait(ctx) <= 0 {
				return nil, c.inProgress(met, nil)
			}
			if poll > firstPause {
				c.waits(ctx) // it has waited once
			}
			again := driver.Record{}
			if err = c.await(ctx, &poll, met); err == nil {
				again, err = c.reread(ctx)
			}
			switch {
			case err == errWaitOver || ctx.Err() != nil:
				return nil, c.inProgress(met, err)
			case err != nil:
				return nil, ending{outcome: OutcomeFailed, err: &StoreError{Op: "wait", Err: err}}
			}
			met = again
		case protocol.RunHandler:
			c.event.Lapsed = c.event.Lapsed || lapsed // whether it runs or not
			if c.repeats() && len(met.Steps) > 0 {
				return nil, c.returnSteps(ctx, &lease{record: met, invocation: invocation})
			}
			how := driver.ReleaseRefund
			if met.Attempt == 1 {
				how = driver.ReleaseDelete
			}
			if c.outlives(met.Lease, invocation) {
				if round++; round > maxRounds {
					return nil, c.inProgress(met, nil)
				}
				if met, err = c.within(ctx, c.claimTime(ctx), func(ctx context.Context) (driver.Record, error) {
					return c.prolong(ctx, met, now, invocation)
				}); err != nil {
					return c.claimFailed(ctx, "extend", owner, how, false, err)
				}
				continue
			}
			if c.x.timeToRun(ctx, now, met.Lease, invocation) {
				return c.leaseOf(ctx, &lease{record: met, invocation: invocation, unclaim: how}), ending{}
			}
			if c.execution != nil {
				return nil, c.noTime(ctx, nil)
			}
			// The answer took so long that another may already run. With a
			// new token: copies of the old claim may still be on their way.
			c.unclaim(ctx, owner, how)
			met, token = driver.Record{}, rand.Text()
		case protocol.OutcomeLost:
			if e, ends := c.askFirst(ctx, met, invocation); ends {
				return nil, e
			}
			return nil, c.withoutRun(ctx, verdict, met)
		default:
			return nil, c.withoutRun(ctx, verdict, met)
		}
	}
}

// leaseOf completes a lease with the contents of the handler's context.
func (c *call) leaseOf(ctx context.Context, l *lease) *lease {
	l.in, c.event.Attempt = c.inside(ctx, l), l.record.Attempt
	return l
}

// createAs creates the record. It returns our record, or the one that it met.
func (c *call) createAs(ctx context.Context, owner string, now, invocation time.Time) (driver.Record, error) {
	lease := c.leaseFrom(now, invocation)
	fresh := driver.Record{
		ID: c.id, Status: driver.InProgress, Owner: owner, Attempt: 1, Lease: lease,
		Expires: c.expiresInProgress(time.Time{}, lease), Fingerprint: c.fingerprint,
	}
	met, _, err := c.create(ctx, fresh, now.Add(-c.x.config.ClockSkew), nil)
	return met, err
}

// takeOverAs takes the record over, and returns what createAs returns.
func (c *call) takeOverAs(ctx context.Context, owner string, lapsed driver.Record, now, invocation time.Time) (driver.Record, error) {
	lease := c.leaseFrom(now, invocation)
	fence := driver.Fence{ID: c.id, Owner: lapsed.Owner, Attempt: lapsed.Attempt, Lease: lapsed.Lease}
	ours := driver.Change{
		Owner: owner, Lease: lease,
		Expires: c.expiresInProgress(lapsed.Expires, lease), Fingerprint: c.fingerprint,
	}
	met, _, err := c.change(ctx, fence, ours)
	return met, err
}

// timeToRun reports whether a handler's context would have any time under a
// lease.
func (x *Executor) timeToRun(ctx context.Context, now, lease, invocation time.Time) bool {
	return ctx.Err() == nil && now.Before(x.times.HandlerEnd(lease, invocation))
}

// hasTime reports whether a claim made now would leave the handler any time.
// Otherwise nothing could run under it.
func (c *call) hasTime(ctx context.Context, invocation time.Time) bool {
	now := wall(c.now)
	return c.x.timeToRun(ctx, now, c.leaseFrom(now, invocation), invocation)
}

func (c *call) noTime(ctx context.Context, err error) ending {
	err = errors.Join(errNoTime, err)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return ending{outcome: OutcomeFailed, err: &StoreError{Op: "claim", Err: err}}
}

// withoutRun ends a call whose handler does not run.
func (c *call) withoutRun(ctx context.Context, v protocol.Verdict, met driver.Record) ending {
	switch v {
	case protocol.ReplayRecord:
		return c.replay(ctx, met)
	case protocol.RefuseReuse:
		return ending{outcome: OutcomeMismatch, err: &KeyReusedError{KeyHash: c.hash}}
	case protocol.OutcomeLost:
		return ending{outcome: OutcomeUnknown, err: &OutcomeUnknownError{KeyHash: c.hash, Attempts: met.Used()}}
	default:
		return ending{outcome: OutcomeFailed, err: &StoreError{Op: "claim", Err: errors.New("the record has a status that this version does not know; inspect the record")}}
	}
}

func (c *call) inProgress(met driver.Record, err error) ending {
	until := met.Lease
	if met.Status != driver.InProgress || until.Equal(driver.LeaseEnded) {
		until = time.Time{}
	}
	return ending{outcome: OutcomeConflict, err: &InProgressError{KeyHash: c.hash, Until: until, Err: err}}
}

// claimFailed ends a claim that may be stored. If it fails open it keeps its
// token, because the lost answer may have been a yes. It never fails open over
// a saga: it does not know the stored steps, and finishing could remove them,
// so that they are never undone.
func (c *call) claimFailed(ctx context.Context, op, owner string, undo driver.Release, saga bool, err error) (*lease, ending) {
	unavailable := errors.Is(err, driver.ErrUnavailable) && !saga
	if unavailable && c.x.config.OnStoreError == FailOpen && ctx.Err() == nil {
		c.suppress(&StoreError{Op: op + ", failed open", Executed: c.turn == nil, Err: err})
		unknown := driver.Record{ID: c.id, Status: driver.InProgress, Owner: owner, Fingerprint: c.fingerprint}
		return c.leaseOf(ctx, &lease{record: unknown, invocation: c.x.invocationEnd(ctx), unconfirmed: true, unclaim: undo}), ending{}
	}
	c.unclaim(ctx, owner, undo)
	return nil, ending{outcome: OutcomeFailed, err: &StoreError{Op: op, Err: err}}
}
