package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testKeep(t *testing.T, h Harness) {
	for _, c := range []struct {
		name string
		how  driver.Release
	}{
		{"keep", driver.ReleaseKeep},
		{"refund", driver.ReleaseRefund},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Run("ends the lease, removes the owner, keeps the rest", func(t *testing.T) {
				s := on(t, h)
				r := withStep(s.claim("alice"), "charge", "1")
				r.Attempt, r.Refunds = 4, 1
				s.plant(r)
				s.wins(fenceOf(r), release(c.how), kept(r, c.how))
			})
			t.Run("by owner alone", func(t *testing.T) {
				s := on(t, h)
				r := s.claimed("alice")
				s.wins(driver.Fence{Owner: "alice", Attempt: 8}, release(c.how), kept(r, c.how))
			})
			t.Run("without a lease", func(t *testing.T) {
				s := on(t, h)
				r := s.claim("alice")
				r.Lease = time.Time{}
				s.plant(r)
				s.wins(fenceOf(r), release(c.how), kept(r, c.how))
			})
			t.Run("is not over before its retention", func(t *testing.T) {
				s := on(t, h)
				r := s.claimed("alice")
				s.wins(fenceOf(r), release(c.how), kept(r, c.how))
				s.meets(s.claim("bob"), r.Expires)
				s.creates(s.claim("bob"), r.Expires.Add(time.Second))
			})
			t.Run("next owner has the next attempt", func(t *testing.T) {
				s := on(t, h)
				r := s.claimed("alice")
				s.wins(fenceOf(r), release(c.how), kept(r, c.how))
				s.wins(takeOver(kept(r, c.how), "bob"))
			})
		})
	}
	t.Run("refunds add up", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		for _, owner := range []string{"bob", "carol", "dave"} {
			s.wins(fenceOf(r), release(driver.ReleaseRefund), kept(r, driver.ReleaseRefund))
			f, c, after := takeOver(kept(r, driver.ReleaseRefund), owner)
			s.wins(f, c, after)
			r = after
		}
		if r.Refunds != 3 || r.Attempt != 4 {
			t.Errorf("refunds %d, attempt %d; want 3 and 4", r.Refunds, r.Attempt)
		}
	})
}
