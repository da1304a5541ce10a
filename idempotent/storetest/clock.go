package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// testClock moves the callers' time back. A store has no clock of its own, so
// the time of one call must not affect a later one.
func testClock(t *testing.T, h Harness) {
	past := now.Add(-48 * time.Hour)
	h.test(t, "expired at one time and not at an earlier one", planted(expired),
		meets(claim("bob"), past), creates(claim("carol"), now), meets(claim("bob"), past))
	h.test(t, "other records do not move the time", claimed, func(s *subject) {
		s.another("2").do(creates(claim("bob"), s.item.Expires.AddDate(1, 0, 0)))
	}, meets(claim("bob"), now))
	behind := claim("alice")
	behind.Lease, behind.Expires = past.Add(lease), past.Add(retention)
	h.test(t, "a claim in the past", creates(behind, past), creates(claim("bob"), now))
	takes := takeOver("bob")
	takes.Lease, takes.Expires = past, past.Add(retention)
	h.test(t, "take over with a clock behind", claimed, reads, wins(takes), loses(takes, asRead))
	h.test(t, "a heartbeat with a clock behind", claimed,
		loses(driver.Change{Lease: behind.Lease, Expires: behind.Expires}))
	done := finish(driver.Completed, "42")
	done.Expires = past.Add(retention)
	h.test(t, "a result with a clock behind", claimed, wins(done), creates(claim("bob"), now))
}
