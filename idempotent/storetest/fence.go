package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// testFence makes every write to every record that it must not change.
func testFence(t *testing.T, h Harness) {
	for _, w := range ownWrites() {
		t.Run(w.name, func(t *testing.T) { testFenceOf(t, h, w.change) })
	}
	h.test(t, "take over/no record", loses(takeOver("bob")), loses(takeOver("bob"), by("alice")))
	later := but(takeOver("carol"), func(c *driver.Change) { c.Lease = now.Add(time.Hour) })
	h.test(t, "take over/stale owner", claimed, reads, wins(takeOver("bob")), loses(later, asRead))
}

func testFenceOf(t *testing.T, h Harness, c driver.Change) {
	h.test(t, "wrong owner", claimed,
		loses(c, as("mallory")), loses(c, as("alic")), loses(c, as("alice ")), loses(c, as("Alice")))
	h.test(t, "stale owner", claimed, reads, wins(takeOver("bob")), loses(c, asRead), loses(c, as("alice")))
	h.test(t, "owner of a deleted record", claimed, wins(del), creates(claim("bob"), now), loses(c, as("alice")))
	h.test(t, "no owner in the record", claimed, reads, wins(keep), loses(c, asRead))
	h.test(t, "no owner in the fence", claimed, refuses(c, as("")))
	h.test(t, "no owner in either", plants(claim("")), refuses(c))
	// A change never creates a record.
	h.test(t, "no record", loses(c, by("alice")))
	for _, status := range []driver.Status{driver.Completed, driver.Failed} {
		h.test(t, "finished/"+string(status), claimed, reads, wins(finish(status, "the result")), loses(c, asRead))
		// A foreign library does not remove the lease.
		h.test(t, "finished with a lease/"+string(status),
			planted(func(r *driver.Record) { r.Status, r.Data = status, []byte("the result") }), loses(c))
	}
}
