package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testExtend(t *testing.T, h Harness) {
	h.testClaimed(t, "forward", func(s subject, r driver.Record) {
		for _, by := range []time.Duration{time.Millisecond, time.Second, time.Hour} {
			c := driver.Change{Lease: r.Lease.Add(by), Expires: r.Expires.Add(time.Minute)}
			r.Lease, r.Expires = c.Lease, c.Expires
			s.wins(fenceOf(r), c, r)
		}
	})
	h.test(t, "by owner alone", func(s subject) {
		// An owner's own writes must not depend on its last heartbeat.
		r := s.planted(func(r *driver.Record) { r.Attempt = 3 })
		r.Lease, r.Expires = extend().Lease, extend().Expires
		s.wins(driver.Fence{Owner: "alice", Attempt: 1, Lease: now}, extend(), r)
	})
	h.testClaimed(t, "without a retention leaves the stored one", func(s subject, r driver.Record) {
		r.Lease = extend().Lease
		s.wins(fenceOf(r), driver.Change{Lease: r.Lease}, r)
	})
	h.testClaimed(t, "leaves the steps", func(s subject, r driver.Record) {
		r = withStep(r, "charge", "1")
		s.wins(fenceOf(r), step("charge", "1"), r)
		r.Lease, r.Expires = extend().Lease, extend().Expires
		s.wins(fenceOf(r), extend(), r)
	})
	for name, by := range map[string]time.Duration{"to the same lease": 0, "a millisecond back": -time.Millisecond, "far back": -time.Hour} {
		h.testClaimed(t, "never "+name, func(s subject, r driver.Record) {
			s.loses(fenceOf(r), driver.Change{Lease: r.Lease.Add(by), Expires: now.Add(2 * retention)})
		})
	}
	h.test(t, "never without a stored lease", func(s subject) {
		r := s.planted(func(r *driver.Record) { r.Lease = time.Time{} })
		s.loses(fenceOf(r), extend())
	})
}
