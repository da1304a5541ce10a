package storetest

import (
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
)

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
