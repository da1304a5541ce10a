package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// testCreateOver goes through every way in which a record can be over or
// not. Retention counts in whole seconds and leases in milliseconds, both
// strictly; only a record in progress has a lease that counts.
func testCreateOver(t *testing.T, h Harness) {
	over := now.Add(700 * time.Millisecond)
	ends := []struct {
		name string
		at   time.Time
		past bool
	}{
		{"absent", time.Time{}, false},
		{"years past", now.AddDate(-20, 0, 0), true},
		{"one second past", now.Add(-time.Second), true},
		{"the same second", now, false},
		{"ahead", now.Add(time.Second), false},
	}
	leases := []struct {
		name string
		at   time.Time
		past bool
	}{
		{"absent", time.Time{}, true},
		{"ended", driver.LeaseEnded, true},
		{"long past", over.Add(-time.Hour), true},
		{"one millisecond past", over.Add(-time.Millisecond), true},
		{"the same millisecond", over, false},
		{"ahead", over.Add(time.Millisecond), false},
	}
	for _, status := range []driver.Status{driver.InProgress, driver.Completed, driver.Failed} {
		for _, end := range ends {
			for _, l := range leases {
				t.Run(fmt.Sprintf("%s/expires %s/lease %s", status, end.name, l.name), func(t *testing.T) {
					s := on(t, h)
					r := s.claim("alice")
					r.Status, r.Expires, r.Lease, r.Attempt = status, end.at, l.at, 5
					s.plant(r)
					if end.past && (status != driver.InProgress || l.past) {
						s.creates(s.claim("bob"), over)
					} else {
						s.meets(s.claim("bob"), over)
					}
				})
			}
		}
	}
	t.Run("the next life knows nothing of the last", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("alice")
		r.Attempt, r.Refunds = 9, 4
		r.Steps = map[string][]byte{"charge": []byte("1")}
		r.Lease, r.Expires = now.Add(-time.Hour), now.Add(-time.Minute)
		s.plant(r)
		next := s.claim("bob")
		next.Fingerprint = "other"
		s.creates(next, now)
		s.wins(fenceOf(next), release(driver.ReleaseDelete), driver.Record{})
	})
	t.Run("the next life has no result", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("alice")
		r.Status, r.Data, r.Lease, r.Expires = driver.Completed, []byte("1"), time.Time{}, now.Add(-time.Minute)
		s.plant(r)
		s.creates(s.claim("bob"), now)
	})
	t.Run("once over, one claim wins", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		late := r.Expires.Add(time.Second)
		next := s.claim("bob")
		next.Lease, next.Expires = late.Add(lease), late.Add(retention)
		s.creates(next, late)
		third := next
		third.Owner = "carol"
		s.meets(third, late)
	})
}
