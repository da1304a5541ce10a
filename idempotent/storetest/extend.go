package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testExtend(t *testing.T, h Harness) {
	t.Run("forward", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		for _, by := range []time.Duration{time.Millisecond, time.Second, time.Hour} {
			c := driver.Change{Lease: r.Lease.Add(by), Expires: r.Expires.Add(time.Minute)}
			r.Lease, r.Expires = c.Lease, c.Expires
			s.wins(fenceOf(r), c, r)
		}
	})
	t.Run("by owner alone", func(t *testing.T) {
		// An owner's own writes must not depend on its last heartbeat.
		s := on(t, h)
		r := s.claim("alice")
		r.Attempt = 3
		s.plant(r)
		r.Lease, r.Expires = extend().Lease, extend().Expires
		s.wins(driver.Fence{Owner: "alice", Attempt: 1, Lease: now}, extend(), r)
	})
	t.Run("without a retention leaves the stored one", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		r.Lease = extend().Lease
		s.wins(fenceOf(r), driver.Change{Lease: r.Lease}, r)
	})
	t.Run("leaves the steps", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		r = withStep(r, "charge", "1")
		s.wins(fenceOf(r), step("charge", "1"), r)
		r.Lease, r.Expires = extend().Lease, extend().Expires
		s.wins(fenceOf(r), extend(), r)
	})
	for _, c := range []struct {
		name  string
		until time.Time
	}{
		{"to the same lease", now.Add(lease)},
		{"a millisecond back", now.Add(lease - time.Millisecond)},
		{"far back", now.Add(-time.Hour)},
	} {
		t.Run("never "+c.name, func(t *testing.T) {
			s := on(t, h)
			r := s.claimed("alice")
			s.loses(fenceOf(r), driver.Change{Lease: c.until, Expires: now.Add(2 * retention)})
		})
	}
	t.Run("never without a stored lease", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("alice")
		r.Lease = time.Time{}
		s.plant(r)
		s.loses(fenceOf(r), extend())
	})
	t.Run("never after a release", func(t *testing.T) {
		// A heartbeat that was sent before the release must not revive the lease.
		s := on(t, h)
		r := s.claimed("alice")
		s.wins(fenceOf(r), release(driver.ReleaseKeep), afterRelease(r, driver.ReleaseKeep))
		s.loses(fenceOf(r), extend())
	})
}
