package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// namedChange is a change of a case.
type namedChange struct {
	name   string
	change driver.Change
}

// ownWrites returns the writes that only the owner may make.
func ownWrites() []namedChange {
	return []namedChange{
		{"extend", extend()},
		{"extend far", driver.Change{Lease: now.AddDate(10, 0, 0)}},
		{"step", step("charge", "1")},
		{"complete", finish(driver.Completed, "1")},
		{"complete elsewhere", driver.Change{Status: driver.Completed, Payload: "reference", Expires: now.Add(retention)}},
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
			h.test(t, "wrong owner", func(s subject) {
				s.claimed("alice")
				for _, owner := range []string{"mallory", "alic", "alice ", "Alice"} {
					s.loses(driver.Fence{Owner: owner, Attempt: 1, Lease: now.Add(lease)}, w.change)
				}
			})
			h.testClaimed(t, "stale owner", func(s subject, r driver.Record) {
				after := s.takenOver(r, "bob")
				s.loses(fenceOf(r), w.change)
				f := fenceOf(after)
				f.Owner = "alice"
				s.loses(f, w.change)
			})
			h.testClaimed(t, "owner of a deleted record", func(s subject, r driver.Record) {
				s.wins(fenceOf(r), release(driver.ReleaseDelete), driver.Record{})
				s.claimed("bob")
				s.loses(fenceOf(r), w.change)
			})
			h.testClaimed(t, "no owner in the record", func(s subject, r driver.Record) {
				s.released(r, driver.ReleaseKeep)
				s.loses(fenceOf(r), w.change)
			})
			h.testClaimed(t, "no owner in the fence", func(s subject, r driver.Record) {
				s.refuses(driver.Fence{Attempt: 1, Lease: r.Lease}, w.change)
			})
			h.test(t, "no owner in either", func(s subject) {
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
				h.testClaimed(t, "finished/"+string(status), func(s subject, r driver.Record) {
					c := finish(status, "the result")
					s.wins(fenceOf(r), c, finished(r, c))
					s.loses(fenceOf(r), w.change)
				})
				h.test(t, "finished with a lease/"+string(status), func(s subject) {
					// A foreign library does not remove the lease.
					r := s.planted(func(r *driver.Record) { r.Status, r.Data = status, []byte("the result") })
					s.loses(fenceOf(r), w.change)
				})
			}
		})
	}
	h.test(t, "take over/no record", func(s subject) {
		f, c, _ := takeOver(s.claim("alice"), "bob")
		s.loses(f, c)
		s.loses(driver.Fence{}, c)
	})
	h.testClaimed(t, "take over/stale owner", func(s subject, r driver.Record) {
		s.takenOver(r, "bob")
		_, c, _ := takeOver(r, "carol")
		c.Lease = now.Add(time.Hour)
		s.loses(fenceOf(r), c)
	})
}
