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
	t.Run("expired at one time and not at an earlier one", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("alice")
		r.Lease, r.Expires = now.Add(-2*time.Hour), now.Add(-time.Hour)
		s.plant(r)
		s.meets(s.claim("bob"), now.Add(back))
		s.creates(s.claim("carol"), now)
		s.meets(s.claim("bob"), now.Add(back))
	})
	t.Run("other records do not move the time", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		late := s
		late.id = s.id + "2"
		late.creates(late.claim("bob"), r.Expires.AddDate(1, 0, 0))
		s.meets(s.claim("bob"), now)
	})
	t.Run("a claim in the past", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("alice")
		r.Lease, r.Expires = now.Add(back+lease), now.Add(back+retention)
		s.creates(r, now.Add(back))
		s.creates(s.claim("bob"), now)
	})
	t.Run("take over with a clock behind", func(t *testing.T) {
		s := on(t, h)
		f, c, after := takeOver(s.claimed("alice"), "bob")
		c.Lease, c.Expires = now.Add(back), now.Add(back+retention)
		after.Lease, after.Expires = c.Lease, c.Expires
		s.wins(f, c, after)
		s.loses(f, c)
	})
	t.Run("a heartbeat with a clock behind", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		s.loses(fenceOf(r), driver.Change{Lease: now.Add(back + lease), Expires: now.Add(back + retention)})
	})
	t.Run("a result with a clock behind", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		c := finish(driver.Completed, "42")
		c.Expires = now.Add(back + retention)
		s.wins(fenceOf(r), c, finished(r, c))
		s.creates(s.claim("bob"), now)
	})
}
