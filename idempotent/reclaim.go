package idempotent

import (
	"context"
	"crypto/rand"
	"errors"
)

// fenceOff gives the record a new owner before steps are undone, where a
// transaction was sent: a late copy of that would otherwise be committed while
// what belongs to it is undone. The attempt is given back, as it is still one.
func (c *call) fenceOff(ctx context.Context, h *hold, in *inside) error {
	limited, cancel := c.finishing(ctx, h)
	defer cancel()
	if err := c.letGo(limited, h); err != nil {
		return err
	}
	released := h.record
	released.Owner, released.Lease = "", LeaseEnded
	owner := rand.Text()
	for try := 1; ; try++ {
		met, _, err := c.try(limited, func(ctx context.Context) (Record, bool, error) {
			met, err := c.takeOverAs(ctx, owner, released, wall(c.look()), h.invocation)
			return met, false, err
		})
		switch {
		case err == nil && met.Status == InProgress && met.Owner == owner:
			// Also where an earlier try landed and its answer was lost.
			h.record, c.event.Attempt = met, met.Attempt
			in.steps.handOver(met)
			return nil
		case err == nil && !sameRelease(met, released):
			return &LeaseLostError{KeyHash: c.hash, Attempt: h.record.Attempt}
		case limited.Err() != nil, err != nil && try >= maxReleases && !errors.Is(err, ErrUnavailable):
			return &StoreError{Op: "take over", Executed: true, Err: errors.Join(context.Cause(limited), err)}
		}
		c.rest(limited, backoff(try))
	}
}

// sameRelease reports whether a record is still as it was released: a takeover
// that was refused then met a conflict of another kind.
func sameRelease(met, released Record) bool {
	return met.Status == InProgress && met.Owner == "" && met.Lease.Equal(LeaseEnded) && met.Attempt == released.Attempt
}

func (c *call) letGo(ctx context.Context, h *hold) error {
	for try := 1; ; try++ {
		met, ok, err := c.try(ctx, func(ctx context.Context) (Record, bool, error) {
			return c.change(ctx, Fence{ID: c.id, Owner: h.record.Owner}, Change{Release: ReleaseRefund})
		})
		switch {
		case ok, err == nil && sameRelease(met, h.record):
			return nil
		case err == nil && (met.Status != InProgress || met.Owner != h.record.Owner):
			return &LeaseLostError{KeyHash: c.hash, Attempt: h.record.Attempt}
		case ctx.Err() != nil || try == maxReleases:
			return &StoreError{Op: "release", Executed: true, Err: errors.Join(context.Cause(ctx), err)}
		}
		c.rest(ctx, backoff(try))
	}
}
