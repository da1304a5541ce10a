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
	met, err := c.takeOverAs(limited, owner, released, wall(c.look()), h.invocation)
	switch {
	case err != nil:
		return &StoreError{Op: "take over", Executed: true, Err: err}
	case met.Owner != owner || met.Status != InProgress:
		return &LeaseLostError{KeyHash: c.hash, Attempt: h.record.Attempt}
	}
	h.record, c.event.Attempt = met, met.Attempt
	in.steps.handOver(met)
	return nil
}

func (c *call) letGo(ctx context.Context, h *hold) error {
	for try := 1; ; try++ {
		met, ok, err := c.try(ctx, func(ctx context.Context) (Record, bool, error) {
			return c.change(ctx, Fence{ID: c.id, Owner: h.record.Owner}, Change{Release: ReleaseRefund})
		})
		switch {
		case ok, err == nil && met.Status == InProgress && met.Owner == "" && met.Attempt == h.record.Attempt:
			return nil
		case err == nil && (met.Status != InProgress || met.Owner != h.record.Owner):
			return &LeaseLostError{KeyHash: c.hash, Attempt: h.record.Attempt}
		case ctx.Err() != nil || try == maxReleases:
			return &StoreError{Op: "release", Executed: true, Err: errors.Join(context.Cause(ctx), err)}
		}
		c.rest(ctx, backoff(try))
	}
}
