package storetest_test

import (
	"github.com/lambda-once/once/idempotent/driver"
)

var takeOverBreakages = []breakage{
	{
		name: "a takeover revives a result",
		alter: func(b *broken, a *alteration) {
			if a.takesOver() && a.met.Status != driver.Absent {
				a.met.Status = driver.InProgress
				b.put(a.met)
			}
		},
		fails: []string{"TakeOver/differs_from_what_was_read/completed"},
	},
	{
		name: "a takeover ignores the owner",
		alter: func(b *broken, a *alteration) {
			if a.takesOver() {
				a.f.Owner = a.met.Owner
			}
		},
		fails: []string{"TakeOver/differs_from_what_was_read/owner", "TakeOver/differs_from_what_was_read/owner_gone"},
	},
	{
		name:  "a takeover ignores the lease",
		depth: 5,
		alter: func(b *broken, a *alteration) {
			if a.takesOver() {
				a.f.Lease = a.met.Lease
			}
		},
		fails: []string{"TakeOver/differs_from_what_was_read/a_heartbeat_came_first", "Exhaustive"},
	},
	{
		name: "a takeover ignores the attempt",
		alter: func(b *broken, a *alteration) {
			if a.takesOver() {
				a.f.Attempt = a.met.Attempt
			}
		},
		fails: []string{"TakeOver/differs_from_what_was_read/attempt_before", "TakeOver/differs_from_what_was_read/attempt_gone"},
	},
	{
		name: "a missing attempt counts for nothing",
		leaves: func(a alteration, r *driver.Record) {
			if a.takesOver() && a.met.Attempt == 0 {
				r.Attempt = 1
			}
		},
		fails: []string{"Foreign/a_takeover_adds_owner,_attempt_and_steps", "Exhaustive", "Random"},
	},
	{
		name: "a takeover leaves the attempt",
		leaves: func(a alteration, r *driver.Record) {
			if a.takesOver() {
				r.Attempt = a.met.Attempt
			}
		},
		fails: []string{"TakeOver/leaves_steps_and_fingerprint", "Exhaustive", "Random"},
	},
	{
		name: "a takeover forgets steps",
		leaves: func(a alteration, r *driver.Record) {
			if a.takesOver() {
				r.Steps = map[string][]byte{}
			}
		},
		fails: []string{"TakeOver/leaves_steps_and_fingerprint"},
	},
	{
		name: "a takeover replaces the fingerprint",
		leaves: func(a alteration, r *driver.Record) {
			if a.takesOver() {
				r.Fingerprint = a.c.Fingerprint
			}
		},
		fails: []string{"TakeOver/leaves_steps_and_fingerprint"},
	},
	{
		name: "adopting ignores the attempt",
		alter: func(b *broken, a *alteration) {
			if a.adopts() {
				a.f.Attempt = a.met.Attempt
			}
		},
		fails: []string{"Adopt/only_by_the_attempt_read", "Adopt/not_after_another_takeover_and_release"},
	},
	{
		name: "adopting takes an owned record",
		alter: func(b *broken, a *alteration) {
			if a.adopts() && a.met.Status == driver.InProgress {
				a.met.Owner = ""
				b.put(a.met)
			}
		},
		fails: []string{"Adopt/not_an_owned_record"},
	},
}
