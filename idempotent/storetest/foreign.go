package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testForeign(t *testing.T, h Harness) {
	end := foreign().Expires
	changed := func(change func(r *driver.Record)) act { return plants(but(foreign(), change)) }
	h.test(t, "in progress is met as it is", plants(foreign()), meets(claim("bob"), now))
	h.test(t, "without a lease it lives until its expiration", changed(leaseless),
		meets(claim("bob"), end), creates(claim("bob"), end.Add(time.Second)))
	late := end.Add(time.Hour)
	h.test(t, "with a lease past its expiration it lives until that",
		changed(func(r *driver.Record) { r.Lease = late }),
		meets(claim("bob"), late), creates(claim("bob"), late.Add(time.Millisecond)))
	h.test(t, "completed is met with its data", changed(func(r *driver.Record) {
		r.Status, r.Data = driver.Completed, []byte(`{"message": "hello"}`)
		r.Fingerprint = "d41d8cd98f00b204e9800998ecf8427e"
	}), meets(claim("bob"), now))
	// A function that returns nothing.
	h.test(t, "completed without data", changed(func(r *driver.Record) { r.Status = driver.Completed }),
		meets(claim("bob"), now), creates(claim("bob"), end.Add(time.Second)))
	h.test(t, "a takeover adds owner, attempt and steps", plants(foreign()), wins(takeOver("bob")), func(s *subject) {
		if a := s.get().Attempt; a != 2 {
			s.Fatalf("attempt %d; a missing one counts as 1", a)
		}
	}, wins(step("charge", "1")), wins(finish(driver.Completed, "42")))
	h.test(t, "take over and delete", plants(foreign()), wins(takeOver("bob")), wins(del))
	t.Run("is not changed by an owner's writes", func(t *testing.T) {
		for _, w := range ownWrites() {
			h.test(t, w.name, plants(foreign()), loses(w.change, by("alice")))
		}
	})
}
