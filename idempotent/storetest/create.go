package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testCreate(t *testing.T, h Harness) {
	t.Run("writes without a record", func(t *testing.T) {
		on(t, h).claimed("alice")
	})
	t.Run("finished at once", func(t *testing.T) {
		for _, status := range []driver.Status{driver.Completed, driver.Failed} {
			t.Run(string(status), func(t *testing.T) {
				s := on(t, h)
				r := s.claim("alice")
				r.Status, r.Data, r.Lease = status, []byte(`{"paid":true}`), time.Time{}
				s.creates(r, now)
			})
		}
	})
	t.Run("few fields", func(t *testing.T) {
		s := on(t, h)
		s.creates(driver.Record{ID: s.id, Status: driver.Completed}, now)
	})
	t.Run("meets another's claim", func(t *testing.T) {
		s := on(t, h)
		s.claimed("alice")
		s.meets(s.claim("bob"), now)
	})
	t.Run("meets everything that is stored", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("alice")
		r.Attempt, r.Refunds = 7, 3
		r.Steps = map[string][]byte{"charge": []byte("1"), "mail": {}}
		s.plant(r)
		s.meets(s.claim("bob"), now)
	})
	t.Run("meets a result", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		c := finish(driver.Completed, "42")
		s.wins(fenceOf(r), c, finished(r, c))
		s.meets(s.claim("bob"), now)
	})
	t.Run("meets its own claim", func(t *testing.T) {
		// The SDK resends a request whose answer was lost.
		s := on(t, h)
		r := s.claimed("alice")
		s.wins(fenceOf(r), step("charge", "1"), withStep(r, "charge", "1"))
		s.meets(r, now)
	})
	t.Run("steps can be added to a new record", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		s.wins(fenceOf(r), step("charge", "1"), withStep(r, "charge", "1"))
	})
	t.Run("leaves other records unchanged", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		other := s
		other.id = s.id + "2"
		other.claimed("bob")
		s.stored(r)
	})
	t.Run("unknown with", func(t *testing.T) {
		s := on(t, h)
		if _, ok, err := h.Store.Create(t.Context(), s.claim("alice"), now, unknown{}); err == nil || ok {
			t.Errorf("Create: ok %v, error %v; want an error", ok, err)
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
				t.Run(fmt.Sprintf("%s/expires %s/lease %s", status, e.name, l.name), func(t *testing.T) {
					s := on(t, h)
					r := s.claim("alice")
					r.Status, r.Expires, r.Lease, r.Attempt = status, e.at, l.at, 5
					s.plant(r)
					if e.past && (status != driver.InProgress || l.past) {
						s.creates(s.claim("bob"), cutoff)
					} else {
						s.meets(s.claim("bob"), cutoff)
					}
				})
			}
		}
	}
	t.Run("removes everything of an expired record", func(t *testing.T) {
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
	t.Run("removes an expired result", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("alice")
		r.Status, r.Data, r.Lease, r.Expires = driver.Completed, []byte("1"), time.Time{}, now.Add(-time.Minute)
		s.plant(r)
		s.creates(s.claim("bob"), now)
	})
	t.Run("one claim of an expired record wins", func(t *testing.T) {
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

// testRecreate calls Create with a zero cutoff, as an owner does whose record
// was deleted: a finished record is written only if there is none.
func testRecreate(t *testing.T, h Harness) {
	result := func(s subject) driver.Record {
		c := finish(driver.Completed, "42")
		return finished(s.claim("alice"), c)
	}
	t.Run("absent", func(t *testing.T) {
		s := on(t, h)
		s.creates(result(s), time.Time{})
	})
	t.Run("deleted", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		s.wins(fenceOf(r), release(driver.ReleaseDelete), driver.Record{})
		s.creates(result(s), time.Time{})
	})
	t.Run("twice", func(t *testing.T) {
		s := on(t, h)
		s.creates(result(s), time.Time{})
		s.meets(result(s), time.Time{})
	})
	t.Run("unavailable", func(t *testing.T) {
		s := on(t, h)
		r := result(s)
		r.Data, r.Unavailable = nil, "json: unsupported type: chan int"
		s.creates(r, time.Time{})
	})
	t.Run("in a payload store", func(t *testing.T) {
		s := on(t, h)
		r := result(s)
		r.Data, r.Payload = nil, "reference"
		s.creates(r, time.Time{})
		s.meets(r, time.Time{})
	})
	for _, status := range []driver.Status{driver.InProgress, driver.Completed, driver.Failed} {
		t.Run("meets an expired record/"+string(status), func(t *testing.T) {
			s := on(t, h)
			r := s.claim("bob")
			r.Status = status
			r.Lease, r.Expires = driver.LeaseEnded, now.AddDate(-20, 0, 0)
			s.plant(r)
			s.meets(result(s), time.Time{})
		})
	}
}
