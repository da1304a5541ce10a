package storetest

import (
	"testing"

	"github.com/lambda-once/once/idempotent"
)

func testDelete(t *testing.T, h Harness) {
	del := release(idempotent.ReleaseDelete)
	t.Run("removes the record", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		s.wins(fenceOf(r), del, idempotent.Record{})
		s.creates(s.claim("bob"), now)
	})
	t.Run("by owner alone", func(t *testing.T) {
		s := on(t, h)
		s.claimed("alice")
		s.wins(idempotent.Fence{Owner: "alice", Attempt: 5, Lease: now}, del, idempotent.Record{})
	})
	t.Run("after a takeover without steps", func(t *testing.T) {
		s := on(t, h)
		f, c, after := takeOver(s.claimed("alice"), "bob")
		s.wins(f, c, after)
		s.wins(fenceOf(after), del, idempotent.Record{})
	})
	t.Run("without a map of steps", func(t *testing.T) {
		// The size of an absent attribute is no number to DynamoDB.
		s := on(t, h)
		r := s.claim("alice")
		r.Steps = nil
		s.plant(r)
		s.wins(fenceOf(r), del, idempotent.Record{})
	})
	t.Run("with an empty map of steps", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("alice")
		r.Steps = map[string][]byte{}
		s.plant(r)
		s.wins(fenceOf(r), del, idempotent.Record{})
	})
	t.Run("not with steps", func(t *testing.T) {
		s := on(t, h)
		r := withStep(s.claimed("alice"), "charge", "1")
		s.wins(fenceOf(r), step("charge", "1"), r)
		s.loses(fenceOf(r), del)
		// Keep is what the core does then.
		s.wins(fenceOf(r), release(idempotent.ReleaseKeep), kept(r, idempotent.ReleaseKeep))
	})
	t.Run("not a result", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		c := finish(idempotent.Completed, "42")
		s.wins(fenceOf(r), c, finished(r, c))
		s.loses(fenceOf(r), del)
	})
}
