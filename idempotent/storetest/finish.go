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
	t.Run("stores the result and drops lease and steps", func(t *testing.T) {
		s := on(t, h)
		r := withStep(s.claimed("alice"), "charge", "1")
		s.wins(fenceOf(r), step("charge", "1"), r)
		s.wins(fenceOf(r), c, finished(r, c))
	})
	t.Run("leaves attempt, refunds and fingerprint", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("alice")
		r.Attempt, r.Refunds = 6, 2
		s.plant(r)
		s.wins(fenceOf(r), c, finished(r, c))
	})
	t.Run("after the lease, by owner alone", func(t *testing.T) {
		// The fence decides, not the time: nobody took over.
		s := on(t, h)
		r := s.claim("alice")
		r.Lease = now.Add(-time.Hour)
		s.plant(r)
		s.wins(driver.Fence{Owner: "alice", Attempt: 9, Lease: now}, c, finished(r, c))
	})
	t.Run("without a retention leaves the stored one", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		c := driver.Change{Status: status, Data: []byte("1")}
		after := finished(r, c)
		after.Expires = r.Expires
		s.wins(fenceOf(r), c, after)
	})
	t.Run("to an earlier end of retention", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		c := c
		c.Expires = now.Add(time.Minute)
		s.wins(fenceOf(r), c, finished(r, c))
	})
	t.Run("reference instead of data", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		c := elsewhere(status, "once/0123abcd")
		s.wins(fenceOf(r), c, finished(r, c))
		s.meets(s.claim("bob"), now)
	})
	t.Run("reason instead of data", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		c := c
		c.Data, c.Unavailable = nil, "json: unsupported type: chan int"
		s.wins(fenceOf(r), c, finished(r, c))
		s.meets(s.claim("bob"), now)
	})
	t.Run("without data", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		c := c
		c.Data = nil
		s.wins(fenceOf(r), c, finished(r, c))
	})
	t.Run("is final", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		s.wins(fenceOf(r), c, finished(r, c))
		for _, other := range []driver.Status{driver.Completed, driver.Failed} {
			s.loses(fenceOf(r), finish(other, "second thoughts"))
		}
		s.loses(fenceOf(r), step("charge", "1"))
		s.loses(fenceOf(r), extend())
	})
	t.Run("until it expires", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		s.wins(fenceOf(r), c, finished(r, c))
		next := s.claim("bob")
		next.Lease, next.Expires = c.Expires.Add(lease), c.Expires.Add(retention)
		s.meets(next, c.Expires.Add(time.Second-time.Millisecond))
		s.creates(next, c.Expires.Add(time.Second))
	})
}
