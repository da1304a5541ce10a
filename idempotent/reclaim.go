package idempotent

import (
	"context"
	"crypto/rand"

	"github.com/lambda-once/once/idempotent/driver"
)

// reclaim gives the record a new owner before steps are undone, where a
// transaction was sent: a late copy of that would otherwise be committed while
// what belongs to it is undone. The attempt is given back, as it is still one.
func (c *call) reclaim(ctx context.Context, h *hold, in *inside) error {
	ctx, cancel := c.finishing(ctx, h)
	defer cancel()
	s := c.x.repeat(ctx, write{
		policy: &reclaimRelease, own: h.record,
		send: func(ctx context.Context, _ ruling, _ driver.Record) reply {
			return c.tryChange(ctx, h, driver.Change{Release: driver.ReleaseRefund})
		},
	})
	if err := c.reclaimFailed("release", h, s); err != nil {
		return err
	}
	released, own := h.record, h.record
	released.Owner, released.Lease = "", driver.LeaseEnded
	own.Owner = rand.Text()
	s = c.x.repeat(ctx, write{
		policy: &reclaimTakeover, own: own,
		send: func(ctx context.Context, _ ruling, _ driver.Record) reply {
			return c.try(ctx, func(ctx context.Context) (driver.Record, bool, error) {
				met, err := c.takeOverAs(ctx, own.Owner, released, wall(c.look()), h.invocation)
				return met, false, err
			})
		},
	})
	if err := c.reclaimFailed("take over", h, s); err != nil {
		return err
	}
	h.record, c.event.Attempt = s.met, s.met.Attempt
	in.steps.handOver(s.met)
	return nil
}

func (c *call) reclaimFailed(op string, h *hold, s sent) error {
	switch s.ruling {
	case done:
		return nil
	case yield:
		return c.leaseLost(h).err
	default:
		return &StoreError{Op: op, Executed: true, Err: s.err}
	}
}
