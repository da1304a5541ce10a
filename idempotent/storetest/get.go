package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testGet(t *testing.T, h Harness) {
	h.test(t, "absent", func(s subject) { s.stored(driver.Record{}) })
	h.test(t, "expired", func(s subject) {
		// Whether a record is expired is the caller's business.
		r := s.claim("alice")
		r.Lease, r.Expires = now.Add(-2*time.Hour), now.Add(-time.Hour)
		s.creates(r, now)
	})
	h.testClaimed(t, "sees the last write", func(s subject, r driver.Record) {
		for i := range 20 {
			c := driver.Change{Lease: r.Lease.Add(time.Duration(i+1) * time.Millisecond)}
			r.Lease = c.Lease
			s.wins(fenceOf(r), c, r)
		}
	})
	h.test(t, "every field", func(s subject) {
		r := s.claim("alice")
		r.Attempt, r.Refunds = 1<<40, 1<<33
		r.Lease = now.Add(987 * time.Millisecond)
		r.Expires = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
		r.Steps = map[string][]byte{"a": []byte("1"), "b": []byte("2")}
		s.plant(r)
	})
	t.Run("empty id", func(t *testing.T) {
		if r, err := h.Store.Get(t.Context(), ""); err == nil {
			t.Errorf("Get of the empty id returned %s; want an error", show(r))
		}
	})
}
