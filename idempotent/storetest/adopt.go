package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// testAdopt checks that an owner which lost its record to a successor finishes
// that record after its release.
func testAdopt(t *testing.T, h Harness) {
	// The record of a successor that has released it, as it has been read.
	released := then(claimed, wins(step("charge", "1")), wins(takeOver("bob")), wins(refund), reads)
	adopts := adopt("alice")
	attempt := func(n int64) edit { return under(func(f *driver.Fence) { f.Attempt = n }) }
	variant := func(change func(c *driver.Change)) act { return wins(but(adopts, change)) }

	h.test(t, "completes", released, wins(adopts))
	h.test(t, "fails", released, variant(func(c *driver.Change) { c.Status = driver.Failed }))
	h.test(t, "with a reason", released,
		variant(func(c *driver.Change) { c.Data, c.Unavailable = nil, "too large" }))
	h.test(t, "with a reference", released,
		variant(func(c *driver.Change) { c.Data, c.Payload = nil, "reference" }))
	h.test(t, "without attempt", released, replanted(func(r *driver.Record) { r.Attempt = 0 }), wins(adopts))
	h.test(t, "only by the attempt read", released,
		loses(adopts, attempt(0)), loses(adopts, attempt(1)), loses(adopts, attempt(3)))
	h.test(t, "not after another takeover", released, wins(takeOver("carol")), loses(adopts, asRead))
	h.test(t, "not after another takeover and release", released,
		wins(takeOver("carol")), wins(keep), loses(adopts, asRead))
	h.test(t, "not a finished record", released, wins(adopts), loses(adopt("dave"), asRead))
	h.test(t, "not an absent record", released, plants(driver.Record{}), loses(adopts, asRead))
	t.Run("not a lease that runs or is absent", func(t *testing.T) {
		for name, at := range map[string]time.Time{"runs": now.Add(lease), "absent": {}} {
			h.test(t, name, released, replanted(func(r *driver.Record) { r.Lease = at }),
				loses(adopts, asRead), refuses(adopts))
		}
	})
	h.test(t, "not an owned record",
		planted(func(r *driver.Record) { r.Owner, r.Lease = "bob", driver.LeaseEnded }),
		loses(adopts, as("")), refuses(adopts))
}
