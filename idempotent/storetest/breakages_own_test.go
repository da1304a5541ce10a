package storetest_test

import (
	"github.com/lambda-once/once/idempotent/driver"
)

var ownBreakages = []breakage{
	{
		name: "the owner is not compared",
		alter: func(b *broken, a *alteration) {
			if a.c.Owner == "" && a.f.Owner != "" && a.met.Owner != "" {
				a.f.Owner = a.met.Owner
			}
		},
		fails: []string{"Fence/extend/wrong_owner", "Fence/complete/stale_owner", "Fence/delete/wrong_owner", "Exhaustive", "Random"},
	},
	{
		name: "an absent owner is anybody",
		alter: func(b *broken, a *alteration) {
			if a.met.Status == driver.InProgress && a.met.Owner == "" && a.c.Owner == "" {
				a.met.Owner = a.f.Owner
				b.put(a.met)
			}
		},
		fails: []string{"Fence/complete/no_owner_in_the_record", "Foreign/is_not_changed_by_an_owner's_writes/complete", "Exhaustive", "Random"},
	},
	{
		name: "a fence without an owner is no fence",
		alter: func(b *broken, a *alteration) {
			if a.c.Owner == "" && a.f.Owner == "" {
				a.f.Owner = a.met.Owner
			}
		},
		fails: []string{"Fence/keep/no_owner_in_the_fence"},
	},
	{
		name: "a finished record is finished again",
		alter: func(b *broken, a *alteration) {
			if a.met.Owner == a.f.Owner && a.c.Status != driver.Absent && a.met.Status == driver.Completed {
				a.met.Status = driver.InProgress
				b.put(a.met)
			}
		},
		fails: []string{"Fence/complete/finished/COMPLETED", "Fence/fail/finished/COMPLETED", "Exhaustive", "Random"},
	},
	{
		name: "a heartbeat moves the lease back",
		change: func(b *broken, a alteration) result {
			if a.extends() && a.own() && a.ctx.Err() == nil {
				a.met.Lease = a.c.Lease
				if !a.c.Expires.IsZero() {
					a.met.Expires = a.c.Expires
				}
				return b.put(a.met)
			}
			return b.soundChange(a)
		},
		fails: []string{"Extend/never_a_millisecond_back", "Extend/never_far_back", "Clock/a_heartbeat_with_a_clock_behind"},
	},
	{
		name: "a change creates",
		alter: func(b *broken, a *alteration) {
			if a.met.Status == driver.Absent && a.c.Validate(a.f) == nil && a.ctx.Err() == nil {
				b.put(driver.Record{ID: a.f.ID, Status: driver.InProgress, Owner: a.f.Owner,
					Attempt: a.f.Attempt, Lease: a.f.Lease.Add(-1e6)})
			}
		},
		fails: []string{"Fence/complete/no_record", "Fence/refund/no_record"},
	},
	{
		name: "a delete forgets steps",
		alter: func(b *broken, a *alteration) {
			if a.c.Release == driver.ReleaseDelete && a.own() {
				a.met.Steps = nil
				b.put(a.met)
			}
		},
		fails: []string{"Delete/not_with_steps", "Exhaustive", "Random"},
	},
	{
		name: "a refund is forgotten",
		alter: func(b *broken, a *alteration) {
			if a.c.Release == driver.ReleaseRefund {
				a.c.Release = driver.ReleaseKeep
			}
		},
		fails: []string{"Keep/refunds_add_up", "Exhaustive", "Random"},
	},
	{
		name: "a refund counts twice",
		leaves: func(a alteration, r *driver.Record) {
			if a.c.Release == driver.ReleaseRefund {
				r.Refunds++
			}
		},
		fails: []string{"Keep/refunds_add_up", "Exhaustive", "Random"},
	},
	{
		name: "a refund needs no owner the second time",
		alter: func(b *broken, a *alteration) {
			if a.c.Release == driver.ReleaseRefund && a.met.Status == driver.InProgress && a.met.Owner == "" {
				a.met.Refunds++
				b.put(a.met)
			}
		},
		fails: []string{"Replay/refund", "Race/refund", "Exhaustive", "Random"},
	},
	{
		name: "a release leaves the owner",
		leaves: func(a alteration, r *driver.Record) {
			if a.releases() {
				r.Owner = a.f.Owner
			}
		},
		fails: []string{"Fence/extend/no_owner_in_the_record", "Keep/keep/by_owner_alone", "Exhaustive", "Random"},
	},
	{
		name: "a release leaves the lease",
		leaves: func(a alteration, r *driver.Record) {
			if a.releases() {
				r.Lease = a.met.Lease
			}
		},
		fails: []string{"Keep/keep/by_owner_alone", "Exhaustive", "Random"},
	},
	{
		name: "a result leaves the steps",
		leaves: func(a alteration, r *driver.Record) {
			if a.c.Status != driver.Absent {
				r.Steps = a.met.Steps
			}
		},
		fails: []string{"Finish/FAILED/stores_the_result_and_drops_lease_and_steps", "Exhaustive", "Random"},
	},
	{
		name: "a result is stored without its ending",
		alter: func(b *broken, a *alteration) {
			if a.c.Status != driver.Absent {
				a.c.Ended = driver.Ending{}
			}
		},
		fails: []string{"Finish/FAILED/stores_the_result_and_drops_lease_and_steps", "Finish/COMPLETED/by_an_operator", "Exhaustive", "Random"},
	},
	{
		name: "a step replaces the others",
		leaves: func(a alteration, r *driver.Record) {
			if len(a.c.Steps) > 0 {
				r.Steps = a.c.Steps
			}
		},
		fails: []string{"Step/add_one_by_one", "Race/steps"},
	},
}
