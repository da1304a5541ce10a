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
func within(ctx context.Context, limit time.Duration, try func(context.Context) (driver.Record, error)) (driver.Record, error) {
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
func (w *writer) claimTime(ctx context.Context) time.Duration {
	limit := unbounded
	if w.x.config.OnStoreError != FailOpen {
		limit = w.startTime(ctx)
	}
	if end := w.claimEnd(ctx, 0); !end.IsZero() {
		left := time.Until(end)
		limit = min(limit, left-min(w.x.longestUnclaim(), left/2))
	}
	if w.x.config.OnStoreError == FailOpen {
		limit = min(limit, longestAttempt)
		if deadline, ok := ctx.Deadline(); ok {
			limit = min(limit, time.Until(deadline)/2)
		}
	}
	return limit
}

// readTime returns how long a read for a claim may take.
func (w *writer) readTime(ctx context.Context) time.Duration {
	limit := w.startTime(ctx)
	if end := w.claimEnd(ctx, shortestAttempt); !end.IsZero() {
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
func (w *writer) unclaimTime(ctx context.Context) time.Duration {
	limit := w.x.longestUnclaim()
	if time.Now().Before(w.lastStart) {
		limit = min(limit, w.shareOfStart(0))
	}
	if end := w.claimEnd(ctx, shortestAttempt); !end.IsZero() {
		limit = min(limit, time.Until(end))
	}
	return limit
}

// startTime returns how long a claim or a read may take before the handler starts
// in a batch. Shortly before the last start it is 500 ms, or half of the time that
// is left for the report if that is less: the record may only need a replay.
func (w *writer) startTime(ctx context.Context) time.Duration {
	if w.lastStart.IsZero() {
		return unbounded
	}
	least := 500 * time.Millisecond
	if end := w.claimEnd(ctx, shortestAttempt); !end.IsZero() {
		least = min(least, time.Until(end)/2)
	}
	return w.shareOfStart(least)
}

// shareOfStart returns half of the time until the last start of a batch, as another
// record may need the rest.
func (w *writer) shareOfStart(least time.Duration) time.Duration {
	return min(max(time.Until(w.lastStart)/2, least, shortestAttempt), longestAttempt)
}

// claimEnd returns the time by which a claim and its release end in an
// invocation: the end of the handlers' time or, if that leaves no more than
// least, that of the call's writes. It returns the zero time elsewhere, and in a
// process that has outlived its invocation, which nothing waits for.
func (w *writer) claimEnd(ctx context.Context, least time.Duration) time.Time {
	if w.invocation.IsZero() || !time.Now().Before(w.invocation) {
		return time.Time{}
	}
	if end, _ := w.x.handlerDeadline(ctx, w.invocation); time.Until(end) > least {
		return end
	}
	return w.lastWrite(ctx)
}

// tooLate returns why the handler does not start after the last start of its
// batch. Its time may be too short: it would be cut off behind its effect.
func (w *writer) tooLate() error {
	if w.lastStart.IsZero() || !time.Now().After(w.lastStart) {
		return nil
	}
	return cmp.Or(w.late, context.DeadlineExceeded)
}

// hasTime reports whether a handler's context would have any time under a
// lease. Otherwise nothing could run under it.
func (w *writer) hasTime(ctx context.Context, lease time.Time) bool {
	return ctx.Err() == nil && w.now.Before(w.x.times.HandlerEnd(lease, w.invocation))
}

// readFirst returns the record that the call decides on first. It reads where
// the configuration or the adapter says so, and where no time is left to run: a
// duplicate needs neither a claim nor time for its answer. Otherwise it returns
// the zero Record, which is to be created.
//
// A read that fails decides nothing: the observer receives its error, and the
// call continues as if there were no record. It returns the error only if there
// is no time to continue.
func (c *call) readFirst(ctx context.Context) (driver.Record, error) {
	if !c.readsFirst() && c.hasTime(ctx, c.leaseFrom(c.now)) {
		return driver.Record{}, nil
	}
	// Leave at least half of the time to the claim.
	limit := longestAttempt
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(min(limit, time.Until(deadline)/2), shortestAttempt)
	}
	met, err := c.read(ctx, min(limit, c.readTime(ctx), c.startTime(ctx)/2))
	switch {
	case err == nil:
		return met, nil
	case !c.hasTime(ctx, c.leaseFrom(c.now)):
		return driver.Record{}, err
	}
	c.tally.suppress(&StoreError{Op: "read", Err: err})
	return driver.Record{}, nil
}

// read reads the record within a time.
func (w *writer) read(ctx context.Context, limit time.Duration) (driver.Record, error) {
	return within(ctx, limit, func(ctx context.Context) (driver.Record, error) { return w.get(ctx, w.id) })
}

// readsFirst reports whether Config.ReadFirst or the adapter says so.
func (c *call) readsFirst() bool { return c.x.config.ReadFirst || c.options.ReadFirst }
