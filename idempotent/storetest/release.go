package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testReleaseDelete(t *testing.T, h Harness) {
	del := release(driver.ReleaseDelete)
	h.testClaimed(t, "removes the record", func(s subject, r driver.Record) {
		s.wins(fenceOf(r), del, driver.Record{})
		s.creates(s.claim("bob"), now)
	})
	h.test(t, "by owner alone", func(s subject) {
		s.claimed("alice")
		s.wins(driver.Fence{Owner: "alice", Attempt: 5, Lease: now}, del, driver.Record{})
	})
	h.test(t, "after a takeover without steps", func(s subject) {
		after := s.takenOver(s.claimed("alice"), "bob")
		s.wins(fenceOf(after), del, driver.Record{})
	})
	// In DynamoDB, the size of an absent attribute is not a number.
	for name, steps := range map[string]map[string][]byte{"without a map of steps": nil, "with an empty map of steps": {}} {
		h.test(t, name, func(s subject) {
			r := s.planted(func(r *driver.Record) { r.Steps = steps })
			s.wins(fenceOf(r), del, driver.Record{})
		})
	}
	h.test(t, "not with steps", func(s subject) {
		r := withStep(s.claimed("alice"), "charge", "1")
		s.wins(fenceOf(r), step("charge", "1"), r)
		s.loses(fenceOf(r), del)
		// The engine uses ReleaseKeep in that case.
		s.released(r, driver.ReleaseKeep)
	})
}

func testReleaseKeep(t *testing.T, h Harness) {
	for name, how := range map[string]driver.Release{"keep": driver.ReleaseKeep, "refund": driver.ReleaseRefund} {
		t.Run(name, func(t *testing.T) {
			h.test(t, "removes owner and lease, leaves the rest", func(s subject) {
				r := withStep(s.claim("alice"), "charge", "1")
				r.Attempt, r.Refunds = 4, 1
				s.plant(r)
				s.released(r, how)
			})
			h.testClaimed(t, "by owner alone", func(s subject, r driver.Record) {
				s.wins(driver.Fence{Owner: "alice", Attempt: 8}, release(how), afterRelease(r, how))
			})
			h.test(t, "without a lease", func(s subject) {
				r := s.planted(func(r *driver.Record) { r.Lease = time.Time{} })
				s.released(r, how)
			})
			h.testClaimed(t, "does not expire before its retention", func(s subject, r driver.Record) {
				s.released(r, how)
				s.meets(s.claim("bob"), r.Expires)
				s.creates(s.claim("bob"), r.Expires.Add(time.Second))
			})
			h.testClaimed(t, "next owner has the next attempt", func(s subject, r driver.Record) {
				s.released(r, how)
				s.takenOver(afterRelease(r, how), "bob")
			})
		})
	}
	h.testClaimed(t, "refunds add up", func(s subject, r driver.Record) {
		for _, owner := range []string{"bob", "carol", "dave"} {
			s.released(r, driver.ReleaseRefund)
			after := s.takenOver(afterRelease(r, driver.ReleaseRefund), owner)
			r = after
		}
		if r.Refunds != 3 || r.Attempt != 4 {
			s.Errorf("refunds %d, attempt %d; want 3 and 4", r.Refunds, r.Attempt)
		}
	})
}
