package storetest

import (
	"bytes"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// testOversize finishes with a result that is too large for DynamoDB. The work
// is done, so the record is finished in any case: with the data, or with the
// reason why it is unavailable.
func testOversize(t *testing.T, h Harness) {
	data := noise(500 << 10)
	check := func(s subject, got, want driver.Record) {
		s.Helper()
		stored := s.get()
		if !bytes.Equal(got.Data, stored.Data) || got.Unavailable != stored.Unavailable || got.Status != stored.Status {
			s.Errorf("result and record differ:\n\t%s\n\t%s", show(got), show(stored))
		}
		if stored.Unavailable != "" {
			want.Data, want.Unavailable = nil, stored.Unavailable
		}
		s.same("record", want, stored)
		s.meets(s.claim("bob"), now)
	}
	for _, status := range []driver.Status{driver.Completed, driver.Failed} {
		t.Run("finish/"+string(status), func(t *testing.T) {
			s := on(t, h)
			r := s.claimed("alice")
			c := finish(status, string(data))
			got, ok, err := h.Store.Change(t.Context(), fenceOf(r), c)
			if err != nil || !ok {
				t.Fatalf("Change: ok %v, error %v", ok, err)
			}
			check(s, got, finished(r, c))
		})
		t.Run("recreate/"+string(status), func(t *testing.T) {
			s := on(t, h)
			r := finished(s.claim("alice"), finish(status, string(data)))
			got, ok, err := h.Store.Create(t.Context(), r, time.Time{}, nil)
			if err != nil || !ok {
				t.Fatalf("Create: ok %v, error %v", ok, err)
			}
			check(s, got, r)
		})
	}
	t.Run("adopt", func(t *testing.T) {
		s := on(t, h)
		r := s.plant(afterRelease(s.claim("bob"), driver.ReleaseKeep))
		c := finish(driver.Completed, string(data))
		c.Owner = "alice"
		got, ok, err := h.Store.Change(t.Context(), fenceOf(r), c)
		if err != nil || !ok {
			t.Fatalf("Change: ok %v, error %v", ok, err)
		}
		check(s, got, finished(r, c))
	})
	t.Run("under a wrong owner", func(t *testing.T) {
		s := on(t, h)
		s.claimed("alice")
		s.loses(driver.Fence{Owner: "mallory"}, finish(driver.Completed, string(data)))
	})
}
