package storetest

import (
	"strings"
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

func testStep(t *testing.T, h Harness) {
	h.test(t, "add one by one", claimed,
		wins(step("charge", "charge done")), wins(step("mail", "mail done")), wins(step("ship", "ship done")))
	steps := func(all map[string][]byte) act { return wins(driver.Change{Steps: all}) }
	h.test(t, "several at once", claimed,
		steps(map[string][]byte{"a": []byte("1"), "b": []byte("2")}),
		steps(map[string][]byte{"b": []byte("3"), "c": []byte("4")}))
	h.test(t, "empty result", claimed, steps(map[string][]byte{"empty": {}, "nil": nil}), loses(del))
	h.test(t, "odd names", claimed, func(s *subject) {
		for _, name := range []string{
			"a.b", "a", "#a", ":a", "a b", " ", "a[0]", "$", "\"", "'", "é", "e\u0301", "日本", "😀",
			"\x00", "\n", "size", "owner", "#steps", "0", "a/b", "a\\b", "-",
		} {
			s.do(wins(step(name, "result of "+name)))
		}
	})
	h.test(t, "any bytes", claimed, wins(step("binary", string(allBytes()))))
	// The engine compares the bytes of a step with those that it sent, so a
	// store must return them verbatim.
	h.test(t, "verbatim", claimed, wins(step("charge", `={"b": 1.0, "a": 1e2, "c": "\u00e9"} `)),
		meets(claim("bob"), now), wins(keep),
		loses(finish(driver.Completed, "alice's"), as("alice")), wins(takeOver("bob")))
	h.test(t, "by owner alone", claimed, wins(step("charge", "1"), by("alice")))
	h.test(t, "of a successor", claimed, wins(step("charge", "1")), reads, wins(takeOver("bob")),
		loses(step("mail", "alice's"), asRead), wins(step("mail", "bob's")))
}

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
