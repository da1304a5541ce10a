package storetest

import (
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
)

func testDelete(t *testing.T, h Harness) {
	del := release(driver.ReleaseDelete)
	t.Run("removes the record", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		s.wins(fenceOf(r), del, driver.Record{})
		s.creates(s.claim("bob"), now)
	})
	t.Run("by owner alone", func(t *testing.T) {
		s := on(t, h)
		s.claimed("alice")
		s.wins(driver.Fence{Owner: "alice", Attempt: 5, Lease: now}, del, driver.Record{})
	})
	t.Run("after a takeover without steps", func(t *testing.T) {
		s := on(t, h)
		f, c, after := takeOver(s.claimed("alice"), "bob")
		s.wins(f, c, after)
		s.wins(fenceOf(after), del, driver.Record{})
	})
	t.Run("without a map of steps", func(t *testing.T) {
		// The size of an absent attribute is no number to DynamoDB.
		s := on(t, h)
		r := s.claim("alice")
		r.Steps = nil
		s.plant(r)
		s.wins(fenceOf(r), del, driver.Record{})
	})
	t.Run("with an empty map of steps", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("alice")
		r.Steps = map[string][]byte{}
		s.plant(r)
		s.wins(fenceOf(r), del, driver.Record{})
	})
	t.Run("not with steps", func(t *testing.T) {
		s := on(t, h)
		r := withStep(s.claimed("alice"), "charge", "1")
		s.wins(fenceOf(r), step("charge", "1"), r)
		s.loses(fenceOf(r), del)
		// Keep is what the core does then.
		s.wins(fenceOf(r), release(driver.ReleaseKeep), kept(r, driver.ReleaseKeep))
	})
	t.Run("not a result", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		c := finish(driver.Completed, "42")
		s.wins(fenceOf(r), c, finished(r, c))
		s.loses(fenceOf(r), del)
	})
}
