package storetest_test

import (
	"bytes"
	"context"

	"github.com/lambda-once/once/idempotent/driver"
)

var answerBreakages = []breakage{
	{
		name: "a lost claim does not return the record",
		create: func(b *broken, c creation) result {
			res := b.soundCreate(c)
			if !res.ok {
				res.r = driver.Record{}
			}
			return res
		},
		fails: []string{"Create/meets_another's_claim", "Race/create", "Exhaustive", "Random"},
	},
	{
		name: "a lost change does not return the record",
		answers: func(a alteration, res *result) {
			if !res.ok {
				res.r = driver.Record{}
			}
		},
		fails: []string{"Fence/complete/stale_owner", "Exhaustive", "Random"},
	},
	{
		name: "a lost change returns what was read, not what is stored",
		answers: func(a alteration, res *result) {
			if !res.ok && a.takesOver() {
				res.r.Lease = a.f.Lease
			}
		},
		fails: []string{"TakeOver/differs_from_what_was_read/a_heartbeat_came_first", "Race/take_over"},
	},
	{
		name: "steps come back in another spelling",
		answers: func(a alteration, res *result) {
			if !res.ok {
				for name, data := range res.r.Steps {
					res.r.Steps[name] = bytes.ReplaceAll(data, []byte(": "), []byte(":"))
				}
			}
		},
		fails: []string{"Step/verbatim"},
	},
	{
		name: "a lost change is an error",
		answers: func(a alteration, res *result) {
			if !res.ok && res.err == nil {
				res.err = context.Canceled
			}
		},
		fails: []string{"Fence/complete/stale_owner", "Exhaustive", "Random"},
	},
	{
		name: "a release returns the record as it was",
		answers: func(a alteration, res *result) {
			if res.ok && a.c.Release != 0 {
				res.r = a.met
			}
		},
		fails: []string{"Keep/keep/by_owner_alone", "Keep/refund/by_owner_alone"},
	},
	{
		name: "a cancelled call has lost",
		change: func(b *broken, a alteration) result {
			if a.ctx.Err() != nil {
				return result{r: a.met}
			}
			return b.soundChange(a)
		},
		fails: []string{"Context/cancelled/complete", "Context/deadline/keep"},
	},
	{
		name: "empty data is absent",
		alter: func(b *broken, a *alteration) {
			if len(a.c.Data) == 0 && a.c.Status != driver.Absent {
				a.c.Data = nil
			}
		},
		fails: []string{"Bytes/data/empty"},
	},
	{
		name: "the reason is lost",
		alter: func(b *broken, a *alteration) {
			if a.c.Status != driver.Absent && a.c.Data == nil {
				a.c.Unavailable = ""
			}
		},
		fails: []string{"Finish/COMPLETED/reason_instead_of_data"},
	},
	{
		name: "the reference is lost",
		alter: func(b *broken, a *alteration) {
			a.c.Payload = ""
		},
		fails: []string{"Bytes/references/plain", "Adopt/with_a_reference"},
	},
	{
		name: "large data is cut off silently",
		alter: func(b *broken, a *alteration) {
			if len(a.c.Data) > 400<<10 {
				a.c.Data = a.c.Data[:400<<10]
			}
		},
		fails: []string{"Oversize/finish/COMPLETED"},
	},
	{
		name: "large data is a lost race",
		change: func(b *broken, a alteration) result {
			if len(a.c.Data) > 400<<10 {
				return result{r: a.met}
			}
			return b.soundChange(a)
		},
		fails: []string{"Oversize/finish/FAILED", "Oversize/adopt"},
	},
	{
		name: "a change drops an unknown With",
		alter: func(b *broken, a *alteration) {
			a.c.With = nil
		},
		fails: []string{"Invalid/unknown_with/complete"},
	},
	{
		name: "a heartbeat drops steps",
		alter: func(b *broken, a *alteration) {
			if !a.c.Lease.IsZero() {
				a.c.Steps = nil
			}
		},
		fails: []string{"Invalid/extend_with_steps", "Invalid/take_over_with_steps"},
	},
	{
		name: "nothing to write is a success",
		change: func(b *broken, a alteration) result {
			if a.c.Owner == "" && a.c.Lease.IsZero() && len(a.c.Steps) == 0 && a.c.Status == "" && a.c.Release == 0 {
				return result{r: a.met, ok: true}
			}
			return b.soundChange(a)
		},
		fails: []string{"Invalid/nothing", "Invalid/expires_alone"},
	},
}
