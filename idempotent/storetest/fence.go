package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// ownWrites returns the writes that only the owner may make.
func ownWrites() []struct {
	name   string
	change driver.Change
} {
	return []struct {
		name   string
		change driver.Change
	}{
		{"extend", extend()},
		{"extend far", driver.Change{Lease: now.AddDate(10, 0, 0)}},
		{"step", step("charge", "1")},
		{"complete", finish(driver.Completed, "1")},
		{"complete elsewhere", elsewhere(driver.Completed, "reference")},
		{"fail", finish(driver.Failed, "1")},
		{"delete", release(driver.ReleaseDelete)},
		{"keep", release(driver.ReleaseKeep)},
		{"refund", release(driver.ReleaseRefund)},
	}
}

// testFence makes every write to every record that it must not change.
func testFence(t *testing.T, h Harness) {
	for _, w := range ownWrites() {
		t.Run(w.name, func(t *testing.T) {
			t.Run("wrong owner", func(t *testing.T) {
				s := on(t, h)
				s.claimed("alice")
				for _, owner := range []string{"mallory", "alic", "alice ", "Alice"} {
					s.loses(driver.Fence{Owner: owner, Attempt: 1, Lease: now.Add(lease)}, w.change)
				}
			})
			t.Run("stale owner", func(t *testing.T) {
				s := on(t, h)
				r := s.claimed("alice")
				f, c, after := takeOver(r, "bob")
				s.wins(f, c, after)
				s.loses(fenceOf(r), w.change)
				f = fenceOf(after)
				f.Owner = "alice"
				s.loses(f, w.change)
			})
			t.Run("owner of a deleted record", func(t *testing.T) {
				s := on(t, h)
				r := s.claimed("alice")
				s.wins(fenceOf(r), release(driver.ReleaseDelete), driver.Record{})
				s.claimed("bob")
				s.loses(fenceOf(r), w.change)
			})
			t.Run("no owner in the record", func(t *testing.T) {
				s := on(t, h)
				r := s.claimed("alice")
				s.wins(fenceOf(r), release(driver.ReleaseKeep), afterRelease(r, driver.ReleaseKeep))
				s.loses(fenceOf(r), w.change)
			})
			t.Run("no owner in the fence", func(t *testing.T) {
				s := on(t, h)
				r := s.claimed("alice")
				s.refuses(driver.Fence{Attempt: 1, Lease: r.Lease}, w.change)
			})
			t.Run("no owner in either", func(t *testing.T) {
				s := on(t, h)
				r := s.claim("")
				r.Lease = now.Add(lease)
				s.plant(r)
				s.refuses(fenceOf(r), w.change)
			})
			t.Run("no record", func(t *testing.T) {
				// A change never creates one.
				on(t, h).loses(driver.Fence{Owner: "alice", Attempt: 1, Lease: now.Add(lease)}, w.change)
			})
			for _, status := range []driver.Status{driver.Completed, driver.Failed} {
				t.Run("finished/"+string(status), func(t *testing.T) {
					s := on(t, h)
					r := s.claimed("alice")
					c := finish(status, "the result")
					s.wins(fenceOf(r), c, finished(r, c))
					s.loses(fenceOf(r), w.change)
				})
				t.Run("finished with a lease/"+string(status), func(t *testing.T) {
					// Another library does not remove the lease.
					s := on(t, h)
					r := s.claim("alice")
					r.Status, r.Data = status, []byte("the result")
					s.plant(r)
					s.loses(fenceOf(r), w.change)
				})
			}
		})
	}
	t.Run("take over/no record", func(t *testing.T) {
		s := on(t, h)
		f, c, _ := takeOver(s.claim("alice"), "bob")
		s.loses(f, c)
		s.loses(driver.Fence{}, c)
	})
	t.Run("take over/stale owner", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		f, c, after := takeOver(r, "bob")
		s.wins(f, c, after)
		c.Owner, c.Lease = "carol", now.Add(time.Hour)
		s.loses(fenceOf(r), c)
	})
}
