package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testFinish(t *testing.T, h Harness) {
	for _, status := range []driver.Status{driver.Completed, driver.Failed} {
		t.Run(string(status), func(t *testing.T) { testFinishAs(t, h, status) })
	}
}

func testFinishAs(t *testing.T, h Harness, status driver.Status) {
	c := finish(status, `{"id":"p-1"}`)
	variant := func(change func(c *driver.Change)) act {
		return then(claimed, wins(but(c, change)), meets(claim("bob"), now))
	}
	h.test(t, "stores the result and drops lease and steps", claimed, wins(step("charge", "1")), wins(c))
	h.test(t, "leaves attempt, refunds and fingerprint",
		planted(func(r *driver.Record) { r.Attempt, r.Refunds = 6, 2 }), wins(c))
	h.test(t, "drops the request", creates(but(claim("alice"), requested), now), wins(c), meets(claim("bob"), now))
	h.test(t, "by an operator", variant(func(c *driver.Change) { c.Ended = operators("ann") }))
	h.test(t, "without an ending", variant(func(c *driver.Change) { c.Ended = driver.Ending{} }))
	h.test(t, "with an ending that is cut", variant(func(c *driver.Change) {
		long := strings.Repeat("é", driver.MaxEndingReason)
		c.Ended = driver.Ending{At: ending.At.Add(time.Microsecond), Type: long, Code: long, By: long, Reason: long}
	}))
	// The fence decides, not the time: there was no takeover.
	h.test(t, "after the lease, by owner alone",
		planted(func(r *driver.Record) { r.Lease = now.Add(-time.Hour) }), wins(c, by("alice")))
	h.test(t, "without a retention leaves the stored one",
		claimed, wins(driver.Change{Status: status, Data: []byte("1")}))
	h.test(t, "to an earlier end of retention",
		variant(func(c *driver.Change) { c.Expires = now.Add(time.Minute) }))
	h.test(t, "reason instead of data", variant(func(c *driver.Change) {
		c.Data, c.Unavailable = nil, "json: unsupported type: chan int"
	}))
	h.test(t, "without data", variant(func(c *driver.Change) { c.Data = nil }))
	next := claim("bob")
	next.Lease, next.Expires = c.Expires.Add(lease), c.Expires.Add(retention)
	h.test(t, "until it expires", claimed, wins(c),
		meets(next, c.Expires.Add(time.Second-time.Millisecond)), creates(next, c.Expires.Add(time.Second)))
}
