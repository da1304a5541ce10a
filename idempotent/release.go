package idempotent

import (
	"context"
	"errors"
	"time"
)

// release gives the record up after an error that is worth a retry.
func (c *call) release(ctx context.Context, h *hold, cause error) error {
	refund := isRetryable(cause)
	cause = unmarked(cause)
	c.event.Outcome = OutcomeReleased
	if h.open {
		c.event.Outcome = OutcomeBypassed
	}
	met, err := c.giveUp(ctx, h, refund)
	switch {
	case err != nil:
		// The caller needs the handler's error; the lease lapses by itself.
		// The observer gets both.
		c.passedOver = &StoreError{Op: "release", Executed: true, Err: err}
		return cause
	case met.Status == Completed || met.Status == Failed:
		c.share(met)
		return c.answerLate(met)
	case met.Status == InProgress && met.Owner != h.record.Owner && !met.Lease.Equal(LeaseEnded):
		c.event.Outcome = OutcomeLeaseLost
		return &LeaseLostError{KeyHash: c.hash, Attempt: h.record.Attempt}
	default:
		return cause
	}
}

var errPanicked = errors.New("idempotent: the handler panicked")

// abandon gives the record up while a panic goes on.
func (c *call) abandon(ctx context.Context, h *hold) {
	c.event.Outcome = OutcomeReleased
	c.passedOver = errPanicked
	if _, err := c.giveUp(ctx, h, false); err != nil {
		c.passedOver = errors.Join(errPanicked, &StoreError{Op: "release", Executed: true, Err: err})
	}
}

// giveUp releases the record, and answers it as met if it was not ours any
// more. A first attempt that left no trace is deleted; otherwise the record
// stays without owner, for its attempts to count.
func (c *call) giveUp(ctx context.Context, h *hold, refund bool) (Record, error) {
	ctx, cancel := c.finishing(ctx, h)
	defer cancel()
	how := ReleaseKeep
	switch {
	case h.record.Attempt == 1 && c.x.config.MaxAttempts == 0 && !h.open:
		how = ReleaseDelete
	case refund:
		how = ReleaseRefund
	}
	own := Fence{ID: c.id, Owner: h.record.Owner}
	for try := 1; ; try++ {
		c.look()
		met, ok, err := c.try(ctx, func(ctx context.Context) (Record, bool, error) {
			return c.change(ctx, own, Change{Release: how})
		})
		switch {
		case ok:
			return Record{}, nil
		case err == nil && decideEnd(met, own.Owner) != tryAgain:
			return met, nil
		case err == nil && how == ReleaseDelete && len(met.Steps) > 0:
			how = ReleaseKeep // finished steps must not run again
		case ctx.Err() != nil || h.open || try == maxReleases:
			if err == nil {
				err = context.Cause(ctx)
			}
			return Record{}, err
		}
		jitter(ctx, min(time.Duration(try)*20*time.Millisecond, time.Second))
	}
}

// maxReleases bounds the tries of a release: unlike a result, it may be lost.
const maxReleases = 3
