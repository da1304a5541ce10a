package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testReleaseDelete(t *testing.T, h Harness) {
	h.test(t, "removes the record", claimed, wins(del), creates(claim("bob"), now))
	h.test(t, "by owner alone", claimed, wins(del, by("alice")))
	h.test(t, "after a takeover without steps", claimed, wins(takeOver("bob")), wins(del))
	// In DynamoDB, the size of an absent attribute is not a number.
	h.test(t, "without a map of steps", planted(func(r *driver.Record) { r.Steps = nil }), wins(del))
	h.test(t, "with an empty map of steps",
		planted(func(r *driver.Record) { r.Steps = map[string][]byte{} }), wins(del))
	// The engine uses ReleaseKeep in that case.
	h.test(t, "not with steps", claimed, wins(step("charge", "1")), loses(del), wins(keep))
}

func testReleaseKeep(t *testing.T, h Harness) {
	for name, c := range map[string]driver.Change{"keep": keep, "refund": refund} {
		t.Run(name, func(t *testing.T) {
			h.test(t, "removes owner and lease, leaves the rest", planted(func(r *driver.Record) {
				*r = withStep(*r, "charge", "1")
				r.Attempt, r.Refunds = 4, 1
			}), wins(c))
			h.test(t, "by owner alone", claimed, wins(c, by("alice")))
			h.test(t, "without a lease", planted(leaseless), wins(c))
			end := claim("alice").Expires
			h.test(t, "does not expire before its retention", claimed, wins(c),
				meets(claim("bob"), end), creates(claim("bob"), end.Add(time.Second)))
			h.test(t, "next owner has the next attempt", claimed, wins(c), wins(takeOver("bob")))
		})
	}
	h.test(t, "refunds add up", claimed, wins(refund), wins(takeOver("bob")),
		wins(refund), wins(takeOver("carol")), wins(refund), wins(takeOver("dave")), func(s *subject) {
			if r := s.get(); r.Refunds != 3 || r.Attempt != 4 {
				s.Errorf("refunds %d, attempt %d; want 3 and 4", r.Refunds, r.Attempt)
			}
		})
}
