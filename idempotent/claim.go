package idempotent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/bounds"
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
	var met driver.Record
	var e conclusion
	if c.options.Resumed != nil {
		met = *c.resumed()
	} else if c.readsFirst || c.onlyTakesOver() || !c.hasTime(ctx, c.leaseFrom(c.now), time.Time{}) {
		if met, e = c.readFirst(ctx); e.outcome != "" {
			return nil, e
		}
	}
	a := claiming{met: met, token: rand.Text(), poll: firstPause}
	for {
		if l, e := c.decide(ctx, &a); l != nil || e.outcome != "" {
			return l, e
		}
	}
}

// readFirst reads the record that the call decides on first: where the configuration or
// the adapter says so, where no time is left to run, and where the call only takes over. A
// duplicate needs neither a claim nor time for its answer.
//
// A read that fails decides nothing: the observer receives its error, and the
// call continues as if there were no record. It ends the call only if there is no
// time to continue, or if it makes no record.
func (c *call) readFirst(ctx context.Context) (driver.Record, conclusion) {
	met, err := c.read(ctx, c.FirstReadTime(ctx))
	switch {
	case err == nil:
		return met, conclusion{}
	case !c.hasTime(ctx, c.leaseFrom(c.now), time.Time{}):
		return driver.Record{}, c.noTime(ctx, err)
	case c.onlyTakesOver(): // now, however the read began
		return driver.Record{}, conclusion{outcome: OutcomeFailed, err: &StoreError{Op: "read", Err: err}}
	}
	c.tally.suppress(&StoreError{Op: "read", Err: err})
	return driver.Record{}, conclusion{}
}

// onlyTakesOver reports whether the call makes no record where there is none: it resumes
// one, or its key is late, and the record of an earlier call may have expired. A record
// was finished no earlier than its key was made, by a clock that may be behind by the skew.
func (c *call) onlyTakesOver() bool {
	cfg := &c.x.config
	if c.options.Resumed != nil {
		return true
	}
	if !cfg.RefuseLate || c.issued.IsZero() {
		return false
	}
	retention := cfg.Retention
	if c.issued.Before(cfg.RetentionBefore.Until.Add(cfg.ClockSkew)) {
		retention = cfg.RetentionBefore.Retention
	}
	return c.now.Sub(c.issued) > retention-cfg.ClockSkew
}

// decide acts on the record that was met last. It returns neither a lease nor an
// outcome if a different record was met since.
func (c *call) decide(ctx context.Context, a *claiming) (*lease, conclusion) {
	a.now = c.now
	a.owner = c.ownerOf(a.met.Attempt, a.token, a.met.Owner)
	verdict := c.claimant(a.owner).Decide(a.met)
	switch verdict {
	case protocol.ClaimAnew, protocol.TakeOver:
		if e := c.nextRound(ctx, a); e.outcome != "" {
			return nil, e
		}
		if verdict == protocol.TakeOver {
			return c.claimLapsed(ctx, a)
		}
		return c.claimAnew(ctx, a)
	case protocol.AwaitOwner:
		return nil, c.awaitOwner(ctx, a)
	case protocol.RunHandler:
		c.lapsed = c.lapsed || a.lapsed // whether it runs or not
		return c.enterOwn(ctx, a)
	case protocol.OutcomeLost:
		if e := c.askFirst(ctx, a.met); e.outcome != "" {
			return nil, e
		}
	}
	return nil, c.withoutRun(ctx, verdict, a.met)
}

// claimant returns the call as it asks for its record now.
func (c *call) claimant(owner string) protocol.Claimant {
	as := protocol.Claimant{
		Owner: owner, Fingerprint: c.fingerprint, Cutoff: c.now.Add(-c.x.config.ClockSkew),
		MaxAttempts: c.x.config.MaxAttempts, OnlyTakesOver: c.onlyTakesOver(),
	}
	if as.ProviderMemory = c.x.times.ProviderMemory; as.ProviderMemory > 0 {
		as.End = c.x.times.HandlerEnd(c.leaseFrom(c.now), c.Invocation, time.Time{})
	}
	return as
}

// nextRound prepares a write that claims the record. It ends the call if there
// is no time to run, or after too many lost races.
func (c *call) nextRound(ctx context.Context, a *claiming) conclusion {
	if err := c.CheckStart(); err != nil {
		return conclusion{outcome: OutcomeNotRun, err: err}
	}
	if a.round++; a.round > maxRounds {
		return c.inProgress(a.met, nil)
	}
	if a.round > 1 {
		c.x.pause(ctx, time.Duration(a.round)*4*time.Millisecond)
		a.now = c.look()
	}
	if a.lease = c.leaseFrom(a.now); !c.hasTime(ctx, a.lease, time.Time{}) {
		return c.noTime(ctx, nil)
	}
	return conclusion{}
}

// hasTime reports whether a handler would have any time under a lease, and before a
// provider may forget the keys of a record that began then.
func (w *writer) hasTime(ctx context.Context, lease, began time.Time) bool {
	return ctx.Err() == nil && w.now.Before(w.x.times.HandlerEnd(lease, w.Invocation, began))
}

// claimAnew creates the record.
func (c *call) claimAnew(ctx context.Context, a *claiming) (*lease, conclusion) {
	a.lapsed, a.owner = false, c.ownerOf(1, a.token, "")
	if c.x.config.Resume && c.request == nil {
		var err error
		if c.request, err = c.encodeRequest(ctx); err != nil {
			return nil, conclusion{outcome: OutcomeFailed, err: err}
		}
	}
	return c.sendClaim(ctx, a, "claim", driver.ReleaseDelete, c.FailOpen, func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
		return c.createAs(ctx, a, c.request)
	})
}

// claimLapsed takes over a record whose lease has lapsed.
func (c *call) claimLapsed(ctx context.Context, a *claiming) (*lease, conclusion) {
	if len(a.met.Steps) > 0 && c.mode.IsExecution() {
		return nil, conclusion{outcome: OutcomeFailed, err: &StepsLeftError{RecordID: c.shown}}
	}
	if e := c.askFirst(ctx, a.met); e.outcome != "" {
		return nil, e
	}
	a.lapsed = !a.met.Lease.Equal(driver.LeaseEnded)
	a.owner = c.ownerOf(max(a.met.Attempt, 1)+1, a.token, "")
	return c.sendClaim(ctx, a, "take over", driver.ReleaseRefund, false, func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
		return c.takeOver(ctx, a.owner, a.met, a.now)
	})
}

// enterOwn begins to run under the claim that was met. An execution first extends
// the lease of an earlier invocation. A claim whose answer was overdue is removed, and
// made again. So is a new record whose key was late when the answer came: that of an
// earlier call may have expired before it.
func (c *call) enterOwn(ctx context.Context, a *claiming) (*lease, conclusion) {
	if len(a.met.Steps) > 0 && c.mode.IsExecution() {
		return nil, c.returnSteps(ctx, a.met)
	}
	how := driver.ReleaseRefund
	if a.met.Attempt == 1 {
		how = driver.ReleaseDelete
	}
	if c.mode.IsDurable() && a.met.Lease.Before(c.leaseFrom(a.now)) {
		if a.round++; a.round > maxRounds {
			return nil, c.inProgress(a.met, nil)
		}
		return c.sendClaim(ctx, a, "extend", how, false, func(ctx context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
			return c.extendOwn(ctx, a.met, a.now)
		})
	}
	late := how == driver.ReleaseDelete && c.onlyTakesOver() && !c.mode.IsDurable()
	if c.hasTime(ctx, a.met.Lease, a.met.Began) && !late {
		l := c.startLease(protocol.Claimed, a.met)
		l.unclaim = how
		return l, conclusion{}
	}
	if c.mode.IsDurable() {
		return nil, c.noTime(ctx, nil)
	}
	// After so long an answer, a different owner may already run. The token is new,
	// because copies of the old claim may still be on their way.
	c.unclaim(ctx, a.owner, how)
	a.met, a.token = driver.Record{}, rand.Text()
	if !c.onlyTakesOver() {
		return nil, conclusion{}
	}
	met, e := c.readFirst(ctx) // a record that was taken over is still there
	a.met = met
	return nil, e
}

// sendClaim makes a.owner the owner of the record with one write. On success decide
// rules on the record that the write left or met. After an error the claim may be
// stored. A call that fails open keeps its token, because the lost answer may have been
// a yes. A takeover never fails open: the store has just answered this call. An attempt
// that thaws may record a saga step after that answer. Finishing would remove the step,
// so that it is never undone.
func (c *call) sendClaim(ctx context.Context, a *claiming, op string, undo driver.Release, failsOpen bool, send sendFunc) (*lease, conclusion) {
	met, err := bounds.Within(ctx, c.ClaimTime(ctx), func(ctx context.Context) (driver.Record, error) {
		s := c.repeat(ctx, &write{Policy: &protocol.Claiming, own: driver.Record{Owner: a.owner}, send: send})
		return s.Met, s.last
	})
	if err == nil {
		a.met = met
		return nil, conclusion{}
	}
	// A takeover whose answer was lost may have landed, and no later call sees it. One
	// that was refused did not: each call until the lease is taken would count it.
	refused := errors.Is(err, driver.ErrDenied) || errors.Is(err, driver.ErrThrottled) || errors.Is(err, driver.ErrNotWritten)
	c.lapsed = c.lapsed || a.lapsed && !refused
	if failsOpen && errors.Is(err, driver.ErrUnavailable) && !c.onlyTakesOver() && ctx.Err() == nil {
		c.tally.suppress(&StoreError{Op: op + ", failed open", Executed: c.turn == nil, Err: err})
		unknown := driver.Record{ID: c.id, Status: driver.InProgress, Owner: a.owner, Fingerprint: c.fingerprint}
		l := c.startLease(protocol.FailedOpen, unknown)
		l.unclaim = undo
		return l, conclusion{}
	}
	c.unclaim(ctx, a.owner, undo)
	return nil, conclusion{outcome: OutcomeFailed, err: &StoreError{Op: op, Err: err}}
}

func (w *writer) noTime(ctx context.Context, err error) conclusion {
	err = errors.Join(errNoTime, err)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return conclusion{outcome: OutcomeFailed, err: &StoreError{Op: "claim", Err: err}}
}
