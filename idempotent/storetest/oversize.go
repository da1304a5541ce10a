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
		h.testClaimed(t, "finish/"+string(status), func(s subject, r driver.Record) {
			c := finish(status, string(data))
			got := s.written(s.Store.Change(s.Context(), fenceOf(r), c))
			check(s, got, finished(r, c))
		})
		h.test(t, "recreate/"+string(status), func(s subject) {
			r := finished(s.claim("alice"), finish(status, string(data)))
			got := s.written(s.Store.Create(s.Context(), r, time.Time{}, nil))
			check(s, got, r)
		})
	}
	h.test(t, "adopt", func(s subject) {
		r := s.plant(afterRelease(s.claim("bob"), driver.ReleaseKeep))
		c := finish(driver.Completed, string(data))
		c.Owner = "alice"
		got := s.written(s.Store.Change(s.Context(), fenceOf(r), c))
		check(s, got, finished(r, c))
	})
	h.test(t, "under a wrong owner", func(s subject) {
		s.claimed("alice")
		s.loses(driver.Fence{Owner: "mallory"}, finish(driver.Completed, string(data)))
	})
}
