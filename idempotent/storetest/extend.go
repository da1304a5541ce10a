package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testExtend(t *testing.T, h Harness) {
	to := func(d time.Duration) driver.Change {
		return driver.Change{Lease: now.Add(lease + d), Expires: now.Add(2*retention + d.Truncate(time.Second))}
	}
	h.test(t, "forward", claimed, wins(to(time.Millisecond)), wins(to(time.Second)), wins(to(time.Hour)))
	// An owner's own writes must not depend on its last heartbeat.
	h.test(t, "by owner alone", planted(func(r *driver.Record) { r.Attempt = 3 }), wins(extend(), by("alice")))
	h.test(t, "without a retention leaves the stored one", claimed, wins(driver.Change{Lease: extend().Lease}))
	h.test(t, "leaves the steps", claimed, wins(step("charge", "1")), wins(extend()))
	h.test(t, "never to the same lease", claimed, loses(to(0)))
	h.test(t, "never a millisecond back", claimed, loses(to(-time.Millisecond)))
	h.test(t, "never far back", claimed, loses(to(-time.Hour)))
	h.test(t, "never without a stored lease", planted(leaseless), loses(extend()))
}
