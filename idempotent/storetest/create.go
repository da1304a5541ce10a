package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testCreate(t *testing.T, h Harness) {
	h.test(t, "writes without a record", claimed)
	t.Run("finished at once", func(t *testing.T) {
		for _, status := range []driver.Status{driver.Completed, driver.Failed} {
			h.test(t, string(status), creates(but(claim("alice"), func(r *driver.Record) {
				r.Status, r.Data, r.Lease, r.Ended = status, []byte(`{"paid":true}`), time.Time{}, ending
			}), now))
		}
	})
	h.test(t, "few fields", creates(driver.Record{Status: driver.Completed}, now))
	requesting := but(claim("alice"), requested)
	h.test(t, "with its request", creates(requesting, now), meets(claim("bob"), now), wins(keep))
	h.test(t, "deleted with its request", creates(requesting, now), wins(del))
	h.test(t, "meets another's claim", claimed, meets(claim("bob"), now))
	h.test(t, "meets everything that is stored", planted(func(r *driver.Record) {
		r.Attempt, r.Refunds = 7, 3
		r.Steps = map[string][]byte{"charge": []byte("1"), "mail": {}}
	}), meets(claim("bob"), now))
	// The SDK resends a request whose answer was lost.
	h.test(t, "meets its own claim", claimed, wins(step("charge", "1")), meets(claim("alice"), now))
	h.test(t, "leaves other records unchanged", claimed, func(s *subject) {
		s.another("2").do(creates(claim("bob"), now))
	}, (*subject).check)
	h.test(t, "unknown with", refusesToCreate(claim("alice"), now, with(unknown{})))
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
				outcome := meets
				if e.past && (status != driver.InProgress || l.past) {
					outcome = creates
				}
				h.test(t, fmt.Sprintf("%s/expires %s/lease %s", status, e.name, l.name),
					planted(func(r *driver.Record) { r.Status, r.Expires, r.Lease, r.Attempt = status, e.at, l.at, 5 }),
					outcome(claim("bob"), cutoff))
			}
		}
	}
	h.test(t, "removes everything of an expired record", planted(func(r *driver.Record) {
		expired(r)
		r.Attempt, r.Refunds, r.Steps = 9, 4, map[string][]byte{"charge": []byte("1")}
	}), creates(but(claim("bob"), func(r *driver.Record) { r.Fingerprint = "other" }), now), wins(del))
	h.test(t, "removes an expired result", planted(func(r *driver.Record) {
		r.Status, r.Data, r.Lease, r.Expires, r.Ended = driver.Completed, []byte("1"), time.Time{}, now.Add(-time.Minute), ending
	}), creates(claim("bob"), now), wins(but(finish(driver.Completed, "2"), func(c *driver.Change) { c.Ended = driver.Ending{} })))
	late := claim("bob").Expires.Add(time.Second)
	next := claim("bob")
	next.Lease, next.Expires = late.Add(lease), late.Add(retention)
	h.test(t, "one claim of an expired record wins", claimed, creates(next, late),
		meets(but(next, func(r *driver.Record) { r.Owner = "carol" }), late))
}

// testRecreate calls Create with a zero cutoff, as an owner does whose record
// was deleted: a finished record is written only if there is none.
func testRecreate(t *testing.T, h Harness) {
	recreates := creates(result(), time.Time{})
	h.test(t, "absent", recreates)
	h.test(t, "deleted", claimed, wins(del), recreates)
	h.test(t, "twice", recreates, meets(result(), time.Time{}))
	h.test(t, "unavailable", creates(but(result(), func(r *driver.Record) {
		r.Data, r.Unavailable = nil, "json: unsupported type: chan int"
	}), time.Time{}))
	for _, status := range []driver.Status{driver.InProgress, driver.Completed, driver.Failed} {
		h.test(t, "meets an expired record/"+string(status), planted(func(r *driver.Record) {
			r.Status, r.Owner, r.Lease, r.Expires = status, "bob", driver.LeaseEnded, now.AddDate(-20, 0, 0)
		}), meets(result(), time.Time{}))
	}
}

func testGet(t *testing.T, h Harness) {
	h.test(t, "absent", (*subject).check)
	// Whether a record is expired is the caller's business.
	h.test(t, "expired", creates(but(claim("alice"), expired), now))
	h.test(t, "sees the last write", claimed, func(s *subject) {
		for range 20 {
			s.do(wins(driver.Change{Lease: s.item.Lease.Add(time.Millisecond)}))
		}
	})
	h.test(t, "every field", planted(func(r *driver.Record) {
		r.Attempt, r.Refunds = 1<<40, 1<<33
		r.Lease = now.Add(987 * time.Millisecond)
		r.Expires = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
		r.Steps = map[string][]byte{"a": []byte("1"), "b": []byte("2")}
	}))
	t.Run("empty id", func(t *testing.T) {
		if r, err := h.Store.Get(t.Context(), ""); err == nil {
			t.Errorf("Get of the empty id returned %s; want an error", show(r))
		}
	})
}
