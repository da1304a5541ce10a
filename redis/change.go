package redis

import (
	"cmp"
	"context"

	"github.com/lambda-once/once/idempotent/driver"
)

// Change makes one fenced write, as [driver.Store] requires. It returns an error for
// combinations of fields that the protocol does not use, and for a With that is not
// nil: the store commits nothing else together with a record.
func (s *Store) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if err := cmp.Or(c.Validate(f), checkValues(c.With, c.Lease, c.Expires, c.Began)); err != nil {
		return driver.Record{}, false, refused("Change", err)
	}
	r := driver.Record{ID: f.ID, Status: driver.InProgress, Owner: f.Owner,
		Lease: driver.WholeMillis(c.Lease), Expires: driver.WholeSeconds(c.Expires)}
	if c.Owner != "" {
		r.Owner = c.Owner
	}
	script, expires := s.scripts.extend, seconds(c.Expires)
	args := fence(f, c, expires)
	switch {
	case c.Release == driver.ReleaseDelete:
		script, r = s.scripts.delete, driver.Record{}
	case c.Release != 0:
		script, r.Owner, r.Lease = s.scripts.keep, "", driver.LeaseEnded
		refunds := "0"
		if c.Release == driver.ReleaseRefund {
			refunds = "1"
		}
		args = append(args, refunds)
	case c.Status != driver.Absent:
		script = s.scripts.finish
		r.Status, r.Data, r.Payload, r.Unavailable, r.Ended = c.Status, c.Data, c.Payload, c.Unavailable, c.Ended
		args = pairs(args, "", expires, r, c.Owner)
	case len(c.Steps) > 0:
		script, r.Steps = s.scripts.step, c.Steps
		args = present(steps(args, c.Steps), fieldExpires, expires)
	default:
		if c.Owner != "" {
			script = s.scripts.takeOver
		}
		args = present(args, fieldLease, millis(r.Lease), fieldExpires, expires, fieldOwner, c.Owner, fieldBegan, millis(c.Began))
	}
	met, ok, err := s.run(ctx, script, f.ID, args)
	if ok && script != s.scripts.takeOver {
		// As far as it is known: the owner need not read its own write.
		return r, true, nil
	}
	return met, ok, err
}

// fence returns the arguments that begin every change: those that the record is compared
// with, a fingerprint, and the end of the retention. "" is absent, and, without a new owner,
// not compared.
func fence(f driver.Fence, c driver.Change, expires any) []any {
	var attempt, lease any = "", ""
	if c.Owner != "" {
		attempt, lease = number(f.Attempt), millis(f.Lease)
	}
	return append(make([]any, 0, 16), f.Owner, c.Owner, attempt, lease, c.Fingerprint, expires)
}
