package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testCreate(t *testing.T, h Harness) {
	h.test(t, "writes without a record", func(s subject) { s.claimed("alice") })
	t.Run("finished at once", func(t *testing.T) {
		for _, status := range []driver.Status{driver.Completed, driver.Failed} {
			h.test(t, string(status), func(s subject) {
				r := s.claim("alice")
				r.Status, r.Data, r.Lease = status, []byte(`{"paid":true}`), time.Time{}
				s.creates(r, now)
			})
		}
	})
	h.test(t, "few fields", func(s subject) {
		s.creates(driver.Record{ID: s.id, Status: driver.Completed}, now)
	})
	h.test(t, "meets another's claim", func(s subject) {
		s.claimed("alice")
		s.meets(s.claim("bob"), now)
	})
	h.test(t, "meets everything that is stored", func(s subject) {
		r := s.claim("alice")
		r.Attempt, r.Refunds = 7, 3
		r.Steps = map[string][]byte{"charge": []byte("1"), "mail": {}}
		s.plant(r)
		s.meets(s.claim("bob"), now)
	})
	h.testClaimed(t, "meets its own claim", func(s subject, r driver.Record) {
		// The SDK resends a request whose answer was lost.
		s.wins(fenceOf(r), step("charge", "1"), withStep(r, "charge", "1"))
		s.meets(r, now)
	})
	h.testClaimed(t, "leaves other records unchanged", func(s subject, r driver.Record) {
		other := s
		other.id = s.id + "2"
		other.claimed("bob")
		s.stored(r)
	})
	h.test(t, "unknown with", func(s subject) {
		if _, ok, err := s.Store.Create(s.Context(), s.claim("alice"), now, unknown{}); err == nil || ok {
			s.Errorf("Create: ok %v, error %v; want an error", ok, err)
		}
		s.stored(driver.Record{})
	})
}

// testCreateExpired covers every combination in which a record is expired or
// not. Retention is compared in whole seconds and leases in milliseconds, both
// strictly. Only the lease of a record in progress counts.
func testCreateExpired(t *testing.T, h Harness) {
	cutoff := now.Add(700 * time.Millisecond)
	expires := []struct {
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
		{"long past", cutoff.Add(-time.Hour), true},
		{"one millisecond past", cutoff.Add(-time.Millisecond), true},
		{"the same millisecond", cutoff, false},
		{"ahead", cutoff.Add(time.Millisecond), false},
	}
	for _, status := range []driver.Status{driver.InProgress, driver.Completed, driver.Failed} {
		for _, e := range expires {
			for _, l := range leases {
				h.test(t, fmt.Sprintf("%s/expires %s/lease %s", status, e.name, l.name), func(s subject) {
					s.planted(func(r *driver.Record) { r.Status, r.Expires, r.Lease, r.Attempt = status, e.at, l.at, 5 })
					if e.past && (status != driver.InProgress || l.past) {
						s.creates(s.claim("bob"), cutoff)
					} else {
						s.meets(s.claim("bob"), cutoff)
					}
				})
			}
		}
	}
	h.test(t, "removes everything of an expired record", func(s subject) {
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
	h.test(t, "removes an expired result", func(s subject) {
		s.planted(func(r *driver.Record) {
			r.Status, r.Data, r.Lease, r.Expires = driver.Completed, []byte("1"), time.Time{}, now.Add(-time.Minute)
		})
		s.creates(s.claim("bob"), now)
	})
	h.testClaimed(t, "one claim of an expired record wins", func(s subject, r driver.Record) {
		late := r.Expires.Add(time.Second)
		next := s.claim("bob")
		next.Lease, next.Expires = late.Add(lease), late.Add(retention)
		s.creates(next, late)
		third := next
		third.Owner = "carol"
		s.meets(third, late)
	})
}

// testRecreate calls Create with a zero cutoff, as an owner does whose record
// was deleted: a finished record is written only if there is none.
func testRecreate(t *testing.T, h Harness) {
	result := func(s subject) driver.Record { return finished(s.claim("alice"), finish(driver.Completed, "42")) }
	h.test(t, "absent", func(s subject) { s.creates(result(s), time.Time{}) })
	h.testClaimed(t, "deleted", func(s subject, r driver.Record) {
		s.wins(fenceOf(r), release(driver.ReleaseDelete), driver.Record{})
		s.creates(result(s), time.Time{})
	})
	h.test(t, "twice", func(s subject) {
		s.creates(result(s), time.Time{})
		s.meets(result(s), time.Time{})
	})
	h.test(t, "unavailable", func(s subject) {
		r := result(s)
		r.Data, r.Unavailable = nil, "json: unsupported type: chan int"
		s.creates(r, time.Time{})
	})
	for _, status := range []driver.Status{driver.InProgress, driver.Completed, driver.Failed} {
		h.test(t, "meets an expired record/"+string(status), func(s subject) {
			r := s.claim("bob")
			r.Status = status
			r.Lease, r.Expires = driver.LeaseEnded, now.AddDate(-20, 0, 0)
			s.plant(r)
			s.meets(result(s), time.Time{})
		})
	}
}
