package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

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
