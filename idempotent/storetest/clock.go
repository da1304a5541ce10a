package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// testClock moves the callers' time back. A store has no clock of its own, so
// the time of one call must not affect a later one.
func testClock(t *testing.T, h Harness) {
	const back = -48 * time.Hour
	h.test(t, "expired at one time and not at an earlier one", func(s subject) {
		s.planted(func(r *driver.Record) { r.Lease, r.Expires = now.Add(-2*time.Hour), now.Add(-time.Hour) })
		s.meets(s.claim("bob"), now.Add(back))
		s.creates(s.claim("carol"), now)
		s.meets(s.claim("bob"), now.Add(back))
	})
	h.testClaimed(t, "other records do not move the time", func(s subject, r driver.Record) {
		late := s
		late.id = s.id + "2"
		late.creates(late.claim("bob"), r.Expires.AddDate(1, 0, 0))
		s.meets(s.claim("bob"), now)
	})
	h.test(t, "a claim in the past", func(s subject) {
		r := s.claim("alice")
		r.Lease, r.Expires = now.Add(back+lease), now.Add(back+retention)
		s.creates(r, now.Add(back))
		s.creates(s.claim("bob"), now)
	})
	h.test(t, "take over with a clock behind", func(s subject) {
		f, c, after := takeOver(s.claimed("alice"), "bob")
		c.Lease, c.Expires = now.Add(back), now.Add(back+retention)
		after.Lease, after.Expires = c.Lease, c.Expires
		s.wins(f, c, after)
		s.loses(f, c)
	})
	h.testClaimed(t, "a heartbeat with a clock behind", func(s subject, r driver.Record) {
		s.loses(fenceOf(r), driver.Change{Lease: now.Add(back + lease), Expires: now.Add(back + retention)})
	})
	h.testClaimed(t, "a result with a clock behind", func(s subject, r driver.Record) {
		c := finish(driver.Completed, "42")
		c.Expires = now.Add(back + retention)
		s.wins(fenceOf(r), c, finished(r, c))
		s.creates(s.claim("bob"), now)
	})
}
