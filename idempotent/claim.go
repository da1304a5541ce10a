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
// claim returns no lease and the conclusion.
func (c *call) claim(ctx context.Context) (*lease, conclusion) {
	if ctx.Err() != nil {
		return nil, conclusion{outcome: OutcomeFailed, err: &StoreError{Op: "claim", Err: context.Cause(ctx)}}
	}
	met, err := c.readFirst(ctx)
	if err != nil {
		return nil, c.noTime(ctx, err)
	}
	a := claiming{met: met, token: rand.Text(), poll: firstPause}
	for {
		if l, e, decided := c.decide(ctx, &a); decided {
			return l, e
		}
	}
}

// decide acts on the record that was met last. It reports false if another
// record was met since.
func (c *call) decide(ctx context.Context, a *claiming) (l *lease, e conclusion, decided bool) {
	a.now = c.now
	a.owner = c.ownerIn(a.met, a.token)
	verdict := protocol.Decide(a.met, a.owner, c.fingerprint, a.now.Add(-c.x.config.ClockSkew), c.x.config.MaxAttempts)
	switch verdict {
	case protocol.ClaimAnew:
		if e, decided = c.nextRound(ctx, a); decided {
			return nil, e, true
		}
		return c.claimAnew(ctx, a)
	case protocol.TakeOver:
		if e, decided = c.nextRound(ctx, a); decided {
			return nil, e, true
		}
		return c.claimLapsed(ctx, a)
	case protocol.AwaitOwner:
		e, decided = c.awaitOwner(ctx, a)
		return nil, e, decided
	case protocol.RunHandler:
		c.event.Lapsed = c.event.Lapsed || a.lapsed // whether it runs or not
		return c.enterOwn(ctx, a)
	case protocol.OutcomeLost:
		if e, decided = c.askFirst(ctx, a.met); decided {
			return nil, e, true
		}
	}
	return nil, c.withoutRun(ctx, verdict, a.met), true
}

// nextRound prepares a write that claims the record. It ends the call if there
// is no time to run, or after too many lost races.
func (c *call) nextRound(ctx context.Context, a *claiming) (e conclusion, ends bool) {
	if late := c.tooLate(); late != nil {
		return conclusion{outcome: OutcomeNotRun, err: late}, true
	}
	if !c.hasTime(ctx, c.leaseFrom(c.now)) {
		return c.noTime(ctx, nil), true
	}
	if a.round++; a.round > maxRounds {
		return c.inProgress(a.met, nil), true
	}
	if a.round > 1 {
		c.x.pause(ctx, time.Duration(a.round)*4*time.Millisecond)
		a.now = c.look()
	}
	return conclusion{}, false
}

// claimAnew creates the record.
func (c *call) claimAnew(ctx context.Context, a *claiming) (l *lease, e conclusion, decided bool) {
	a.lapsed, a.owner = false, c.ownerOf(1, a.token)
	met, err := c.tryClaim(ctx, a.owner, func(ctx context.Context) (driver.Record, bool, error) {
		return c.createAs(ctx, a.owner, a.now)
	})
	if err != nil {
		l, e = c.claimFailed(ctx, "claim", a.owner, driver.ReleaseDelete, false, err)
		return l, e, true
	}
	a.met = met
	return nil, conclusion{}, false
}

// claimLapsed takes over a record whose lease has lapsed.
func (c *call) claimLapsed(ctx context.Context, a *claiming) (l *lease, e conclusion, decided bool) {
	if c.owner == protocol.Execution && len(a.met.Steps) > 0 {
		return nil, conclusion{outcome: OutcomeFailed, err: &StepsLeftError{KeyHash: c.hash}}, true
	}
	if e, decided = c.askFirst(ctx, a.met); decided {
		return nil, e, true
	}
	a.lapsed = !a.met.Lease.Equal(driver.LeaseEnded)
	a.owner = c.ownerOf(max(a.met.Attempt, 1)+1, a.token)
	met, err := c.tryClaim(ctx, a.owner, func(ctx context.Context) (driver.Record, bool, error) {
		return c.takeOver(ctx, a.owner, a.met, a.now)
	})
	if err != nil {
		c.event.Lapsed = a.lapsed || c.event.Lapsed // it may have landed, and no later call sees it
		l, e = c.claimFailed(ctx, "take over", a.owner, driver.ReleaseRefund, protocol.HasSaga(a.met.Steps), err)
		return l, e, true
	}
	a.met = met
	return nil, conclusion{}, false
}

// enterOwn begins to run under the claim that was met. An execution first extends
// the lease of an earlier invocation. A claim that was answered too late is
// removed, and made again.
func (c *call) enterOwn(ctx context.Context, a *claiming) (l *lease, e conclusion, decided bool) {
	if c.owner == protocol.Execution && len(a.met.Steps) > 0 {
		return nil, c.returnSteps(ctx, &lease{mode: c.mode(protocol.Claimed), record: a.met}), true
	}
	how := driver.ReleaseRefund
	if a.met.Attempt == 1 {
		how = driver.ReleaseDelete
	}
	if c.owner != protocol.OneCall && a.met.Lease.Before(c.leaseFrom(a.now)) {
		if a.round++; a.round > maxRounds {
			return nil, c.inProgress(a.met, nil), true
		}
		met, err := c.tryClaim(ctx, a.owner, func(ctx context.Context) (driver.Record, bool, error) {
			return c.extendOwn(ctx, a.met, a.now)
		})
		if err != nil {
			l, e = c.claimFailed(ctx, "extend", a.owner, how, false, err)
			return l, e, true
		}
		a.met = met
		return nil, conclusion{}, false
	}
	if c.hasTime(ctx, a.met.Lease) {
		l = c.startLease(protocol.Claimed, a.met)
		l.unclaim = how
		return l, conclusion{}, true
	}
	if c.owner != protocol.OneCall {
		return nil, c.noTime(ctx, nil), true
	}
	// The answer took so long that another may already run. With a
	// new token: copies of the old claim may still be on their way.
	c.unclaim(ctx, a.owner, how)
	a.met, a.token = driver.Record{}, rand.Text()
	return nil, conclusion{}, false
}

// startLease returns the lease under which the handler runs.
func (c *call) startLease(hold protocol.Hold, record driver.Record) *lease {
	l := &lease{mode: c.mode(hold), record: record}
	l.frame, c.event.Attempt = c.newFrame(l), record.Attempt
	return l
}

func (c *call) mode(hold protocol.Hold) protocol.Mode {
	return protocol.Mode{Hold: hold, Owner: c.owner}
}

// claimFailed ends a claim that may be stored. If it fails open it keeps its
// token, because the lost answer may have been a yes. It never fails open over
// a saga: it does not know the stored steps, and finishing could remove them,
// so that they are never undone.
func (c *call) claimFailed(ctx context.Context, op, owner string, undo driver.Release, saga bool, err error) (*lease, conclusion) {
	unavailable := errors.Is(err, driver.ErrUnavailable) && !saga
	if unavailable && c.x.config.OnStoreError == FailOpen && ctx.Err() == nil {
		c.tally.suppress(&StoreError{Op: op + ", failed open", Executed: c.turn == nil, Err: err})
		unknown := driver.Record{ID: c.id, Status: driver.InProgress, Owner: owner, Fingerprint: c.fingerprint}
		l := c.startLease(protocol.FailedOpen, unknown)
		l.unclaim = undo
		return l, conclusion{}
	}
	c.unclaim(ctx, owner, undo)
	return nil, conclusion{outcome: OutcomeFailed, err: &StoreError{Op: op, Err: err}}
}

func (w *writer) noTime(ctx context.Context, err error) conclusion {
	err = errors.Join(errNoTime, err)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return conclusion{outcome: OutcomeFailed, err: &StoreError{Op: "claim", Err: err}}
}

// withoutRun ends a call whose handler does not run.
func (c *call) withoutRun(ctx context.Context, v protocol.Verdict, met driver.Record) conclusion {
	switch v {
	case protocol.ReplayRecord:
		return c.replay(ctx, met)
	case protocol.RefuseReuse:
		return conclusion{outcome: OutcomeMismatch, err: &KeyReusedError{KeyHash: c.hash}}
	case protocol.OutcomeLost:
		return conclusion{outcome: OutcomeUnknown, err: &OutcomeUnknownError{KeyHash: c.hash, Attempts: met.Used()}}
	default:
		return conclusion{outcome: OutcomeFailed, err: &StoreError{Op: "claim", Err: errors.New("the record has a status that this version does not know; inspect the record")}}
	}
}

func (w *writer) inProgress(met driver.Record, err error) conclusion {
	until := met.Lease
	if met.Status != driver.InProgress || until.Equal(driver.LeaseEnded) {
		until = time.Time{}
	}
	return conclusion{outcome: OutcomeConflict, err: &InProgressError{KeyHash: w.hash, Until: until, Err: err}}
}
