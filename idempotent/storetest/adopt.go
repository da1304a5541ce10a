package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// testAdopt checks that an owner which lost its record to a successor finishes
// that record after its release.
func testAdopt(t *testing.T, h Harness) {
	adopt := finish(driver.Completed, "alice's result")
	adopt.Owner = "alice"
	// released stores the record of a successor that has released it.
	released := func(s subject) driver.Record {
		f, c, r := takeOver(withStep(s.claim("alice"), "charge", "1"), "bob")
		first := withStep(s.claimed("alice"), "charge", "1")
		s.wins(fenceOf(first), step("charge", "1"), first)
		s.wins(f, c, r)
		return s.released(r, driver.ReleaseRefund)
	}
	for name, change := range map[string]func(r *driver.Record, c *driver.Change){
		"completes":        func(*driver.Record, *driver.Change) {},
		"fails":            func(_ *driver.Record, c *driver.Change) { c.Status = driver.Failed },
		"with a reason":    func(_ *driver.Record, c *driver.Change) { c.Data, c.Unavailable = nil, "too large" },
		"with a reference": func(_ *driver.Record, c *driver.Change) { c.Data, c.Payload = nil, "reference" },
		"without attempt":  func(r *driver.Record, _ *driver.Change) { r.Attempt = 0 },
	} {
		h.test(t, name, func(s subject) {
			r := released(s)
			c := adopt
			change(&r, &c)
			s.plant(r)
			s.wins(fenceOf(r), c, finished(r, c))
		})
	}
	h.test(t, "only by the attempt read", func(s subject) {
		r := released(s)
		for _, attempt := range []int64{0, r.Attempt - 1, r.Attempt + 1} {
			f := fenceOf(r)
			f.Attempt = attempt
			s.loses(f, adopt)
		}
	})
	h.test(t, "not after another takeover", func(s subject) {
		r := released(s)
		s.takenOver(r, "carol")
		s.loses(fenceOf(r), adopt)
	})
	h.test(t, "not after another takeover and release", func(s subject) {
		r := released(s)
		third := s.takenOver(r, "carol")
		s.released(third, driver.ReleaseKeep)
		s.loses(fenceOf(r), adopt)
	})
	h.test(t, "not a finished record", func(s subject) {
		r := released(s)
		s.wins(fenceOf(r), adopt, finished(r, adopt))
		late := adopt
		late.Owner = "dave"
		s.loses(fenceOf(r), late)
	})
	h.test(t, "not an absent record", func(s subject) {
		r := released(s)
		s.plant(driver.Record{})
		s.loses(fenceOf(r), adopt)
	})
	t.Run("not a lease that runs or is absent", func(t *testing.T) {
		for name, at := range map[string]time.Time{"runs": now.Add(lease), "absent": {}} {
			h.test(t, name, func(s subject) {
				r := released(s)
				read := fenceOf(r)
				r.Lease = at
				s.plant(r)
				s.loses(read, adopt)
				s.refuses(fenceOf(r), adopt)
			})
		}
	})
	h.test(t, "not an owned record", func(s subject) {
		r := s.claim("bob")
		r.Lease = driver.LeaseEnded
		s.plant(r)
		f := fenceOf(r)
		f.Owner = ""
		s.loses(f, adopt)
		s.refuses(fenceOf(r), adopt)
	})
}
