package idempotent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// A store that does not answer must not take the whole invocation: Lambda would
// kill the process before it has reported the call, or the other records of its
// batch. So on Lambda a claim and its release end Reserve before the invocation.
// In a batch they also leave time for the other records. Elsewhere the caller's
// context bounds a claim.

// unbounded is the time of a try that only its context bounds.
const unbounded = time.Duration(math.MaxInt64)

// within makes one call to the store, which may take as long as limit. After
// that, the store counts as unavailable.
func (c *call) within(ctx context.Context, limit time.Duration, try func(context.Context) (driver.Record, error)) (driver.Record, error) {
	if limit == unbounded {
		return try(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	met, err := try(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil && !errors.Is(err, driver.ErrUnavailable) {
		err = fmt.Errorf("%w: no answer in %v: %w", driver.ErrUnavailable, limit, err)
	}
	return met, err
}

// claimTime returns how long a try to claim may take. On Lambda it leaves time
// for the release of a claim that is cut off. If the call can continue without
// the store, it leaves time for the handler. The time of a batch does not bound it
// then: that a batch has little time left does not mean that the store is down, and
// the record may be finished.
func (c *call) claimTime(ctx context.Context) time.Duration {
	limit := unbounded
	if c.x.config.OnStoreError != FailOpen {
		limit = c.startTime(ctx)
	}
	if end := c.claimEnd(ctx, 0); !end.IsZero() {
		left := time.Until(end)
		limit = min(limit, left-min(c.x.longestUnclaim(), left/2))
	}
	if c.x.config.OnStoreError == FailOpen {
		limit = min(limit, longestAttempt)
		if deadline, ok := ctx.Deadline(); ok {
			limit = min(limit, time.Until(deadline)/2)
		}
	}
	return limit
}

// readTime returns how long a read for a claim may take.
func (c *call) readTime(ctx context.Context) time.Duration {
	limit := c.startTime(ctx)
	if end := c.claimEnd(ctx, shortestAttempt); !end.IsZero() {
		limit = min(limit, time.Until(end))
	}
	return limit
}

// longestUnclaim is how long a claim is released if nothing else bounds it.
func (x *Executor) longestUnclaim() time.Duration {
	return min(max(x.config.Reserve, shortestAttempt), longestAttempt)
}

// unclaimTime returns how long the release of a claim may take. It outlives the
// caller's context.
func (c *call) unclaimTime(ctx context.Context) time.Duration {
	limit := c.x.longestUnclaim()
	if time.Now().Before(c.lastStart) {
		limit = min(limit, c.shareOfStart(0))
	}
	if end := c.claimEnd(ctx, shortestAttempt); !end.IsZero() {
		limit = min(limit, time.Until(end))
	}
	return limit
}

// startTime returns how long a claim or a read may take before the handler starts
// in a batch. Shortly before the last start it is 500 ms, or half of the time that
// is left for the report if that is less: the record may only need a replay.
func (c *call) startTime(ctx context.Context) time.Duration {
	least := 500 * time.Millisecond
	if end := c.claimEnd(ctx, shortestAttempt); !end.IsZero() {
		least = min(least, time.Until(end)/2)
	}
	return c.shareOfStart(least)
}

// shareOfStart returns half of the time until the last start of a batch, as another
// record may need the rest.
func (c *call) shareOfStart(least time.Duration) time.Duration {
	if c.lastStart.IsZero() {
		return unbounded
	}
	return min(max(time.Until(c.lastStart)/2, least, shortestAttempt), longestAttempt)
}

// claimEnd returns the time by which a claim and its release end in an
// invocation: the end of the handlers' time or, if that leaves no more than
// least, that of the call's writes. It returns the zero time elsewhere, and in a
// process that has outlived its invocation, which nothing waits for.
func (c *call) claimEnd(ctx context.Context, least time.Duration) time.Time {
	invocation := c.x.invocationEnd(ctx)
	if invocation.IsZero() || !time.Now().Before(invocation) {
		return time.Time{}
	}
	if end, _ := c.x.HandlerDeadline(ctx); time.Until(end) > least {
		return end
	}
	return c.x.lastWrite(ctx, invocation)
}

// tooLate returns why the handler does not start after the last start of its
// batch. Its time may be too short: it would be cut off behind its effect.
func (c *call) tooLate() error {
	if c.lastStart.IsZero() || !time.Now().After(c.lastStart) {
		return nil
	}
	return cmp.Or(c.late, context.DeadlineExceeded)
}
