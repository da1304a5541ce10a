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
	released := func(t *testing.T) (subject, driver.Record) {
		s := on(t, h)
		f, c, r := takeOver(withStep(s.claim("alice"), "charge", "1"), "bob")
		first := withStep(s.claimed("alice"), "charge", "1")
		s.wins(fenceOf(first), step("charge", "1"), first)
		s.wins(f, c, r)
		r = afterRelease(r, driver.ReleaseRefund)
		s.wins(driver.Fence{Owner: "bob"}, release(driver.ReleaseRefund), r)
		return s, r
	}
	t.Run("completes", func(t *testing.T) {
		s, r := released(t)
		s.wins(fenceOf(r), adopt, finished(r, adopt))
	})
	t.Run("fails", func(t *testing.T) {
		s, r := released(t)
		c := adopt
		c.Status = driver.Failed
		s.wins(fenceOf(r), c, finished(r, c))
	})
	t.Run("with a reason", func(t *testing.T) {
		s, r := released(t)
		c := adopt
		c.Data, c.Unavailable = nil, "too large"
		s.wins(fenceOf(r), c, finished(r, c))
	})
	t.Run("with a reference", func(t *testing.T) {
		s, r := released(t)
		c := adopt
		c.Data, c.Payload = nil, "reference"
		s.wins(fenceOf(r), c, finished(r, c))
	})
	t.Run("without attempt", func(t *testing.T) {
		s, r := released(t)
		r.Attempt = 0
		s.plant(r)
		s.wins(fenceOf(r), adopt, finished(r, adopt))
	})
	t.Run("only by the attempt read", func(t *testing.T) {
		s, r := released(t)
		for _, attempt := range []int64{0, r.Attempt - 1, r.Attempt + 1} {
			f := fenceOf(r)
			f.Attempt = attempt
			s.loses(f, adopt)
		}
	})
	t.Run("not after another takeover", func(t *testing.T) {
		s, r := released(t)
		s.wins(takeOver(r, "carol"))
		s.loses(fenceOf(r), adopt)
	})
	t.Run("not after another takeover and release", func(t *testing.T) {
		s, r := released(t)
		f, c, third := takeOver(r, "carol")
		s.wins(f, c, third)
		s.wins(fenceOf(third), release(driver.ReleaseKeep), afterRelease(third, driver.ReleaseKeep))
		s.loses(fenceOf(r), adopt)
	})
	t.Run("not a finished record", func(t *testing.T) {
		s, r := released(t)
		s.wins(fenceOf(r), adopt, finished(r, adopt))
		late := adopt
		late.Owner = "dave"
		s.loses(fenceOf(r), late)
	})
	t.Run("not an absent record", func(t *testing.T) {
		s, r := released(t)
		s.plant(driver.Record{})
		s.loses(fenceOf(r), adopt)
	})
	t.Run("not a lease that runs or is absent", func(t *testing.T) {
		for name, at := range map[string]time.Time{"runs": now.Add(lease), "absent": {}} {
			t.Run(name, func(t *testing.T) {
				s, r := released(t)
				read := fenceOf(r)
				r.Lease = at
				s.plant(r)
				s.loses(read, adopt)
				s.refuses(fenceOf(r), adopt)
			})
		}
	})
	t.Run("not an owned record", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("bob")
		r.Lease = driver.LeaseEnded
		s.plant(r)
		f := fenceOf(r)
		f.Owner = ""
		s.loses(f, adopt)
		s.refuses(fenceOf(r), adopt)
	})
}
