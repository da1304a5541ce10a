package storetest

import (
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
	h.test(t, "stores the result and drops lease and steps", func(s subject) {
		r := withStep(s.claimed("alice"), "charge", "1")
		s.wins(fenceOf(r), step("charge", "1"), r)
		s.wins(fenceOf(r), c, finished(r, c))
	})
	h.test(t, "leaves attempt, refunds and fingerprint", func(s subject) {
		r := s.planted(func(r *driver.Record) { r.Attempt, r.Refunds = 6, 2 })
		s.wins(fenceOf(r), c, finished(r, c))
	})
	h.test(t, "after the lease, by owner alone", func(s subject) {
		// The fence decides, not the time: there was no takeover.
		r := s.planted(func(r *driver.Record) { r.Lease = now.Add(-time.Hour) })
		s.wins(driver.Fence{Owner: "alice", Attempt: 9, Lease: now}, c, finished(r, c))
	})
	h.testClaimed(t, "without a retention leaves the stored one", func(s subject, r driver.Record) {
		c := driver.Change{Status: status, Data: []byte("1")}
		after := finished(r, c)
		after.Expires = r.Expires
		s.wins(fenceOf(r), c, after)
	})
	for name, change := range map[string]func(c *driver.Change){
		"to an earlier end of retention": func(c *driver.Change) { c.Expires = now.Add(time.Minute) },
		"reason instead of data": func(c *driver.Change) {
			c.Data, c.Unavailable = nil, "json: unsupported type: chan int"
		},
		"without data": func(c *driver.Change) { c.Data = nil },
	} {
		h.testClaimed(t, name, func(s subject, r driver.Record) {
			c := c
			change(&c)
			s.wins(fenceOf(r), c, finished(r, c))
			s.meets(s.claim("bob"), now)
		})
	}
	h.testClaimed(t, "until it expires", func(s subject, r driver.Record) {
		s.wins(fenceOf(r), c, finished(r, c))
		next := s.claim("bob")
		next.Lease, next.Expires = c.Expires.Add(lease), c.Expires.Add(retention)
		s.meets(next, c.Expires.Add(time.Second-time.Millisecond))
		s.creates(next, c.Expires.Add(time.Second))
	})
}
