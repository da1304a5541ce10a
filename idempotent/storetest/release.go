package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testReleaseDelete(t *testing.T, h Harness) {
	del := release(driver.ReleaseDelete)
	t.Run("removes the record", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		s.wins(fenceOf(r), del, driver.Record{})
		s.creates(s.claim("bob"), now)
	})
	t.Run("by owner alone", func(t *testing.T) {
		s := on(t, h)
		s.claimed("alice")
		s.wins(driver.Fence{Owner: "alice", Attempt: 5, Lease: now}, del, driver.Record{})
	})
	t.Run("after a takeover without steps", func(t *testing.T) {
		s := on(t, h)
		f, c, after := takeOver(s.claimed("alice"), "bob")
		s.wins(f, c, after)
		s.wins(fenceOf(after), del, driver.Record{})
	})
	t.Run("without a map of steps", func(t *testing.T) {
		// In DynamoDB, the size of an absent attribute is not a number.
		s := on(t, h)
		r := s.claim("alice")
		r.Steps = nil
		s.plant(r)
		s.wins(fenceOf(r), del, driver.Record{})
	})
	t.Run("with an empty map of steps", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("alice")
		r.Steps = map[string][]byte{}
		s.plant(r)
		s.wins(fenceOf(r), del, driver.Record{})
	})
	t.Run("not with steps", func(t *testing.T) {
		s := on(t, h)
		r := withStep(s.claimed("alice"), "charge", "1")
		s.wins(fenceOf(r), step("charge", "1"), r)
		s.loses(fenceOf(r), del)
		// The engine uses ReleaseKeep in that case.
		s.wins(fenceOf(r), release(driver.ReleaseKeep), afterRelease(r, driver.ReleaseKeep))
	})
	t.Run("not a result", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		c := finish(driver.Completed, "42")
		s.wins(fenceOf(r), c, finished(r, c))
		s.loses(fenceOf(r), del)
	})
}

func testReleaseKeep(t *testing.T, h Harness) {
	for _, c := range []struct {
		name string
		how  driver.Release
	}{
		{"keep", driver.ReleaseKeep},
		{"refund", driver.ReleaseRefund},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Run("removes owner and lease, leaves the rest", func(t *testing.T) {
				s := on(t, h)
				r := withStep(s.claim("alice"), "charge", "1")
				r.Attempt, r.Refunds = 4, 1
				s.plant(r)
				s.wins(fenceOf(r), release(c.how), afterRelease(r, c.how))
			})
			t.Run("by owner alone", func(t *testing.T) {
				s := on(t, h)
				r := s.claimed("alice")
				s.wins(driver.Fence{Owner: "alice", Attempt: 8}, release(c.how), afterRelease(r, c.how))
			})
			t.Run("without a lease", func(t *testing.T) {
				s := on(t, h)
				r := s.claim("alice")
				r.Lease = time.Time{}
				s.plant(r)
				s.wins(fenceOf(r), release(c.how), afterRelease(r, c.how))
			})
			t.Run("does not expire before its retention", func(t *testing.T) {
				s := on(t, h)
				r := s.claimed("alice")
				s.wins(fenceOf(r), release(c.how), afterRelease(r, c.how))
				s.meets(s.claim("bob"), r.Expires)
				s.creates(s.claim("bob"), r.Expires.Add(time.Second))
			})
			t.Run("next owner has the next attempt", func(t *testing.T) {
				s := on(t, h)
				r := s.claimed("alice")
				s.wins(fenceOf(r), release(c.how), afterRelease(r, c.how))
				s.wins(takeOver(afterRelease(r, c.how), "bob"))
			})
		})
	}
	t.Run("refunds add up", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		for _, owner := range []string{"bob", "carol", "dave"} {
			s.wins(fenceOf(r), release(driver.ReleaseRefund), afterRelease(r, driver.ReleaseRefund))
			f, c, after := takeOver(afterRelease(r, driver.ReleaseRefund), owner)
			s.wins(f, c, after)
			r = after
		}
		if r.Refunds != 3 || r.Attempt != 4 {
			t.Errorf("refunds %d, attempt %d; want 3 and 4", r.Refunds, r.Attempt)
		}
	})
}
