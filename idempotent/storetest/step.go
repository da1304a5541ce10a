package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testStep(t *testing.T, h Harness) {
	h.testClaimed(t, "add one by one", func(s subject, r driver.Record) {
		for _, name := range []string{"charge", "mail", "ship"} {
			r = withStep(r, name, name+" done")
			s.wins(fenceOf(r), step(name, name+" done"), r)
		}
	})
	h.testClaimed(t, "several at once", func(s subject, r driver.Record) {
		r = withStep(withStep(r, "a", "1"), "b", "2")
		s.wins(fenceOf(r), driver.Change{Steps: r.Steps}, r)
		c := withStep(withStep(driver.Record{}, "b", "3"), "c", "4")
		r = withStep(withStep(r, "b", "3"), "c", "4")
		s.wins(fenceOf(r), driver.Change{Steps: c.Steps}, r)
	})
	h.testClaimed(t, "empty result", func(s subject, r driver.Record) {
		r = withStep(withStep(r, "empty", ""), "nil", "")
		s.wins(fenceOf(r), driver.Change{Steps: map[string][]byte{"empty": {}, "nil": nil}}, r)
		s.loses(fenceOf(r), release(driver.ReleaseDelete))
	})
	h.testClaimed(t, "odd names", func(s subject, r driver.Record) {
		for _, name := range []string{
			"a.b", "a", "#a", ":a", "a b", " ", "a[0]", "$", "\"", "'", "é", "e\u0301", "日本", "😀",
			"\x00", "\n", "size", "owner", "#steps", "0", "a/b", "a\\b", "-",
		} {
			r = withStep(r, name, "result of "+name)
			s.wins(fenceOf(r), step(name, "result of "+name), r)
		}
	})
	h.testClaimed(t, "any bytes", func(s subject, r driver.Record) {
		r = withStep(r, "binary", string(allBytes()))
		s.wins(fenceOf(r), step("binary", string(allBytes())), r)
	})
	// The engine compares the bytes of a step with those that it sent, so a
	// store must return them verbatim.
	h.testClaimed(t, "verbatim", func(s subject, r driver.Record) {
		text := `={"b": 1.0, "a": 1e2, "c": "\u00e9"} `
		r = withStep(r, "charge", text)
		s.wins(fenceOf(r), step("charge", text), r)
		s.meets(s.claim("bob"), now)
		released := afterRelease(r, driver.ReleaseKeep)
		s.wins(fenceOf(r), release(driver.ReleaseKeep), released)
		s.loses(fenceOf(r), finish(driver.Completed, "alice's"))
		s.takenOver(released, "bob")
	})
	h.test(t, "by owner alone", func(s subject) {
		r := withStep(s.claimed("alice"), "charge", "1")
		s.wins(driver.Fence{Owner: "alice", Attempt: 9, Lease: now.Add(time.Hour)}, step("charge", "1"), r)
	})
	h.test(t, "of a successor", func(s subject) {
		r := withStep(s.claimed("alice"), "charge", "1")
		s.wins(fenceOf(r), step("charge", "1"), r)
		after := s.takenOver(r, "bob")
		s.loses(fenceOf(r), step("mail", "alice's"))
		s.wins(fenceOf(after), step("mail", "bob's"), withStep(after, "mail", "bob's"))
	})
}
