// Package bounds computes how long a call may wait for its store.
//
// A store that does not answer must not take the whole invocation: Lambda would kill
// the process before it has reported the call, or the rest of its batch. So on
// Lambda a claim and its release end Reserve before the invocation. In a batch they also
// leave time for the rest of the records. Elsewhere the caller's context bounds a claim.
package bounds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

const (
	// ShortestTry is the time that each try of a write has at least.
	ShortestTry = 200 * time.Millisecond
	// LongestTry is the time after which a try counts as hung.
	LongestTry = 5 * time.Second

	// unbounded is the time of a try that only its context bounds.
	unbounded = time.Duration(math.MaxInt64)
)

// Bounds are the limits of one call.
type Bounds struct {
	Reserve  time.Duration // see idempotent.Config
	FailOpen bool          // the call can continue without the store
	Nested   bool          // it is made within a handler
	// Invocation is the end of the Lambda invocation, or zero.
	Invocation time.Time
	// LastStart is the time after which the handler does not start, or zero. TimeUp is
	// the reason.
	LastStart time.Time
	TimeUp    error
}

// Within makes one call to the store, which may take as long as limit. After
// that, the store counts as unavailable.
func Within[T any](ctx context.Context, limit time.Duration, try func(context.Context) (T, error)) (T, error) {
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

// CheckStart returns why the handler does not start after the last start of its
// batch. Its time may be too short: it would be cut off behind its effect.
func (b *Bounds) CheckStart() error {
	if b.LastStart.IsZero() || !time.Now().After(b.LastStart) {
		return nil
	}
	return cmp.Or(b.TimeUp, context.DeadlineExceeded)
}

// ClaimTime returns how long a try to claim may take. On Lambda it leaves time
// for the release of a claim that is cut off. If the call can continue without
// the store, it leaves time for the handler. The time of a batch does not bound it
// then: that a batch has little time left does not mean that the store is down, and
// the record may be finished.
func (b *Bounds) ClaimTime(ctx context.Context) time.Duration {
	limit := unbounded
	if !b.FailOpen {
		limit = b.startTime(ctx)
	}
	if end := b.claimEnd(ctx, 0); !end.IsZero() {
		left := time.Until(end)
		limit = min(limit, left-min(b.longestUnclaim(), left/2))
	}
	if b.FailOpen {
		limit = min(limit, LongestTry)
		if deadline, ok := ctx.Deadline(); ok {
			limit = min(limit, time.Until(deadline)/2)
		}
	}
	return limit
}

// ReadTime returns how long a read for a claim may take.
func (b *Bounds) ReadTime(ctx context.Context) time.Duration {
	limit := b.startTime(ctx)
	if end := b.claimEnd(ctx, ShortestTry); !end.IsZero() {
		limit = min(limit, time.Until(end))
	}
	return limit
}

// FirstReadTime returns how long a read before the claim may take. It leaves at least
// half of the time to the claim.
func (b *Bounds) FirstReadTime(ctx context.Context) time.Duration {
	limit := LongestTry
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(min(limit, time.Until(deadline)/2), ShortestTry)
	}
	return min(limit, b.ReadTime(ctx), b.startTime(ctx)/2)
}

// AskTime returns how long a question about an execution may take. It leaves at least
// half of the time until the Reserve to the takeover.
func (b *Bounds) AskTime(ctx context.Context) time.Duration {
	limit := LongestTry
	if deadline, ok := b.HandlerDeadline(ctx); ok {
		limit = min(limit, time.Until(deadline)/2)
	}
	return limit
}

// UnclaimTime returns how long the release of a claim may take. It outlives the
// caller's context.
func (b *Bounds) UnclaimTime(ctx context.Context) time.Duration {
	limit := b.longestUnclaim()
	if time.Now().Before(b.LastStart) {
		limit = min(limit, b.shareOfStart(0))
	}
	if end := b.claimEnd(ctx, ShortestTry); !end.IsZero() {
		limit = min(limit, time.Until(end))
	}
	return limit
}

// longestUnclaim is how long a claim is released if nothing else bounds it.
func (b *Bounds) longestUnclaim() time.Duration {
	return min(max(b.Reserve, ShortestTry), LongestTry)
}

// startTime returns how long a claim or a read may take before the handler starts
// in a batch. Shortly before the last start it is 500 ms, or half of the time that
// is left for the report if that is less: the record may only need a replay.
func (b *Bounds) startTime(ctx context.Context) time.Duration {
	if b.LastStart.IsZero() {
		return unbounded
	}
	least := 500 * time.Millisecond
	if end := b.claimEnd(ctx, ShortestTry); !end.IsZero() {
		least = min(least, time.Until(end)/2)
	}
	return b.shareOfStart(least)
}

// shareOfStart returns half of the time until the last start of a batch, as a later
// record may need the rest.
func (b *Bounds) shareOfStart(least time.Duration) time.Duration {
	return min(max(time.Until(b.LastStart)/2, least, ShortestTry), LongestTry)
}

// claimEnd returns the time by which a claim and its release end in an
// invocation: the end of the handlers' time or, if that leaves no more than
// least, that of the call's writes. It returns the zero time elsewhere, and in a
// process that has outlived its invocation, which nothing waits for.
func (b *Bounds) claimEnd(ctx context.Context, least time.Duration) time.Time {
	if b.Invocation.IsZero() || !time.Now().Before(b.Invocation) {
		return time.Time{}
	}
	if end, _ := b.HandlerDeadline(ctx); time.Until(end) > least {
		return end
	}
	return b.LastWrite(ctx)
}

// HandlerDeadline returns the time at which the context of a handler ends that a call
// with ctx would run, and reports whether there is one.
func (b *Bounds) HandlerDeadline(ctx context.Context) (deadline time.Time, ok bool) {
	deadline, ok = ctx.Deadline()
	if b.Invocation.IsZero() {
		return deadline, ok
	}
	if end := b.Invocation.Add(-b.Reserve); !ok || !deadline.Before(end) {
		return end, true
	}
	return deadline, true
}

// LastWrite returns the time by which the writes of a call end in an invocation.
func (b *Bounds) LastWrite(ctx context.Context) time.Time {
	last := b.Invocation.Add(-min(b.Reserve/5, ShortestTry))
	if deadline, ok := ctx.Deadline(); b.Nested && ok && deadline.Before(last) {
		return deadline
	}
	return last
}
