package storetest_test

import (
	"slices"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

var breakages = slices.Concat(createBreakages, takeOverBreakages, ownBreakages, answerBreakages, operateBreakages)

var createBreakages = []breakage{
	{
		name: "a claim ignores the lease",
		create: func(b *broken, c creation) result {
			if c.met.Status == driver.InProgress && !c.cutoff.IsZero() {
				c.met.Lease = time.Time{}
				b.put(c.met)
			}
			return b.soundCreate(c)
		},
		fails: []string{"CreateExpired/INPROGRESS/expires_one_second_past/lease_ahead"},
	},
	{
		name: "a claim waits for the lease of a result",
		create: func(b *broken, c creation) result {
			if !c.met.Lease.IsZero() && !c.met.Lapsed(c.cutoff) {
				return result{r: c.met}
			}
			return b.soundCreate(c)
		},
		fails: []string{"CreateExpired/COMPLETED/expires_one_second_past/lease_ahead"},
	},
	{
		name: "a record expires a second early",
		create: func(b *broken, c creation) result {
			if !c.cutoff.IsZero() && c.met.Status != driver.InProgress {
				c.cutoff = c.cutoff.Add(time.Second)
			}
			return b.soundCreate(c)
		},
		fails: []string{"CreateExpired/FAILED/expires_the_same_second/lease_absent"},
	},
	{
		name: "a lease lapses a millisecond early",
		create: func(b *broken, c creation) result {
			if !c.cutoff.IsZero() {
				c.cutoff = c.cutoff.Add(time.Millisecond)
			}
			return b.soundCreate(c)
		},
		fails: []string{"CreateExpired/INPROGRESS/expires_one_second_past/lease_the_same_millisecond"},
	},
	{
		name: "a record without retention expires",
		create: func(b *broken, c creation) result {
			if c.met.Expires.IsZero() && c.met.Status != driver.Absent && !c.cutoff.IsZero() {
				c.met.Expires = time.Unix(1, 0)
				b.put(c.met)
			}
			return b.soundCreate(c)
		},
		fails: []string{"CreateExpired/COMPLETED/expires_absent/lease_absent"},
	},
	{
		name: "a recreated result replaces an expired record",
		create: func(b *broken, c creation) result {
			if c.cutoff.IsZero() {
				c.cutoff = time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC)
			}
			return b.soundCreate(c)
		},
		fails: []string{"Recreate/meets_an_expired_record/COMPLETED"},
	},
	{
		name: "a claim of an expired record inherits refunds",
		create: func(b *broken, c creation) result {
			return b.spoil(b.soundCreate(c), func(r *driver.Record) { r.Refunds = c.met.Refunds })
		},
		fails: []string{"CreateExpired/removes_everything_of_an_expired_record"},
	},
	{
		name: "a claim of an expired record inherits its ending",
		create: func(b *broken, c creation) result {
			return b.spoil(b.soundCreate(c), func(r *driver.Record) { r.Ended = c.met.Ended })
		},
		fails: []string{"CreateExpired/removes_an_expired_result"},
	},
	{
		name: "a claim checks, then writes",
		racy: true,
		create: func(b *broken, c creation) result {
			if c.ctx.Err() != nil || c.with != nil || c.met.Status != driver.Absent {
				return b.soundCreate(c)
			}
			b.untilAnother()
			return b.put(c.r)
		},
		fails: []string{"Race/create"},
	},
	{
		name: "time never goes back",
		create: func(b *broken, c creation) result {
			if c.cutoff.After(b.last) {
				b.last = c.cutoff
			}
			if !c.cutoff.IsZero() {
				c.cutoff = b.last
			}
			return b.soundCreate(c)
		},
		fails: []string{"Clock/other_records_do_not_move_the_time"},
	},
	{
		name: "a claim drops an unknown With",
		create: func(b *broken, c creation) result {
			c.with = nil
			return b.soundCreate(c)
		},
		fails: []string{"Create/unknown_with"},
	},
}
