package storetest_test

import (
	"slices"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

var breakages = slices.Concat(createBreakages, takeOverBreakages, ownBreakages, answerBreakages)

var createBreakages = []breakage{
	{
		name: "a claim ignores the lease",
		create: func(b *broken, c creation) result {
			if c.met.Status == driver.InProgress && !c.over.IsZero() {
				c.met.Lease = time.Time{}
				b.put(c.met)
			}
			return b.soundCreate(c)
		},
		fails: []string{"CreateOver/INPROGRESS/expires_one_second_past/lease_ahead"},
	},
	{
		name: "a claim waits for the lease of a result",
		create: func(b *broken, c creation) result {
			if !c.met.Lease.IsZero() && !c.met.Lapsed(c.over) {
				return result{r: c.met}
			}
			return b.soundCreate(c)
		},
		fails: []string{"CreateOver/COMPLETED/expires_one_second_past/lease_ahead"},
	},
	{
		name: "a record is over a second early",
		create: func(b *broken, c creation) result {
			if !c.over.IsZero() && c.met.Status != driver.InProgress {
				c.over = c.over.Add(time.Second)
			}
			return b.soundCreate(c)
		},
		fails: []string{"CreateOver/FAILED/expires_the_same_second/lease_absent"},
	},
	{
		name: "a lease is over a millisecond early",
		create: func(b *broken, c creation) result {
			if !c.over.IsZero() {
				c.over = c.over.Add(time.Millisecond)
			}
			return b.soundCreate(c)
		},
		fails: []string{"CreateOver/INPROGRESS/expires_one_second_past/lease_the_same_millisecond"},
	},
	{
		name: "a record without retention is over",
		create: func(b *broken, c creation) result {
			if c.met.Expires.IsZero() && c.met.Status != driver.Absent && !c.over.IsZero() {
				c.met.Expires = time.Unix(1, 0)
				b.put(c.met)
			}
			return b.soundCreate(c)
		},
		fails: []string{"CreateOver/COMPLETED/expires_absent/lease_absent"},
	},
	{
		name: "a recreated result replaces a record that is over",
		create: func(b *broken, c creation) result {
			if c.over.IsZero() {
				c.over = time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC)
			}
			return b.soundCreate(c)
		},
		fails: []string{"Recreate/meets_a_record_that_is_over/COMPLETED"},
	},
	{
		name: "the next life inherits refunds",
		create: func(b *broken, c creation) result {
			return b.spoil(b.soundCreate(c), func(r *driver.Record) { r.Refunds = c.met.Refunds })
		},
		fails: []string{"CreateOver/the_next_life_knows_nothing_of_the_last"},
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
			if c.over.After(b.last) {
				b.last = c.over
			}
			if !c.over.IsZero() {
				c.over = b.last
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
