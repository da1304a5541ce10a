package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testStep(t *testing.T, h Harness) {
	t.Run("add one by one", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		for _, name := range []string{"charge", "mail", "ship"} {
			r = withStep(r, name, name+" done")
			s.wins(fenceOf(r), step(name, name+" done"), r)
		}
	})
	t.Run("several at once", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		r = withStep(withStep(r, "a", "1"), "b", "2")
		s.wins(fenceOf(r), driver.Change{Steps: r.Steps}, r)
		c := withStep(withStep(driver.Record{}, "b", "3"), "c", "4")
		r = withStep(withStep(r, "b", "3"), "c", "4")
		s.wins(fenceOf(r), driver.Change{Steps: c.Steps}, r)
	})
	t.Run("empty result", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		r = withStep(withStep(r, "empty", ""), "nil", "")
		s.wins(fenceOf(r), driver.Change{Steps: map[string][]byte{"empty": {}, "nil": nil}}, r)
		s.loses(fenceOf(r), release(driver.ReleaseDelete))
	})
	t.Run("odd names", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		for _, name := range []string{
			"a.b", "a", "#a", ":a", "a b", " ", "a[0]", "$", "\"", "'", "é", "e\u0301", "日本", "😀",
			"\x00", "\n", "size", "owner", "#steps", "0", "a/b", "a\\b", "-",
		} {
			r = withStep(r, name, "result of "+name)
			s.wins(fenceOf(r), step(name, "result of "+name), r)
		}
	})
	t.Run("any bytes", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		r = withStep(r, "binary", string(allBytes()))
		s.wins(fenceOf(r), step("binary", string(allBytes())), r)
	})
	// The engine compares the bytes of a step with those that it sent, so a
	// store must not return another spelling of them.
	t.Run("verbatim", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		text := `={"b": 1.0, "a": 1e2, "c": "\u00e9"} `
		r = withStep(r, "charge", text)
		s.wins(fenceOf(r), step("charge", text), r)
		s.meets(s.claim("bob"), now)
		released := afterRelease(r, driver.ReleaseKeep)
		s.wins(fenceOf(r), release(driver.ReleaseKeep), released)
		s.loses(fenceOf(r), finish(driver.Completed, "alice's"))
		f, c, after := takeOver(released, "bob")
		s.wins(f, c, after)
	})
	t.Run("by owner alone", func(t *testing.T) {
		s := on(t, h)
		r := withStep(s.claimed("alice"), "charge", "1")
		s.wins(driver.Fence{Owner: "alice", Attempt: 9, Lease: now.Add(time.Hour)}, step("charge", "1"), r)
	})
	t.Run("of a successor", func(t *testing.T) {
		s := on(t, h)
		r := withStep(s.claimed("alice"), "charge", "1")
		s.wins(fenceOf(r), step("charge", "1"), r)
		f, c, after := takeOver(r, "bob")
		s.wins(f, c, after)
		s.loses(fenceOf(r), step("mail", "alice's"))
		s.wins(fenceOf(after), step("mail", "bob's"), withStep(after, "mail", "bob's"))
	})
}
