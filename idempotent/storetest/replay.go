package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// testReplay sends every write twice, as a client does after a lost answer. The
// second copy succeeds again or meets the record of the first one. In either case
// it changes nothing.
func testReplay(t *testing.T, h Harness) {
	lapsed := planted(func(r *driver.Record) { r.Lease = now.Add(-time.Minute) })
	h.test(t, "take over", lapsed, twice(takeOver("bob")))
	h.test(t, "take over a foreign record", plants(foreign()), twice(takeOver("bob")))
	h.test(t, "adopt", plants(after(claim("bob"), keep)), twice(adopt("alice")))
	for _, w := range ownWrites() {
		second := func(r *driver.Record) { r.Attempt, r.Steps = 2, map[string][]byte{} }
		h.test(t, w.name, planted(second), twice(w.change))
	}
}

// twice expects that c is applied, and that a second copy changes nothing.
func twice(c driver.Change) act {
	return func(s *subject) {
		w := s.alteration(c)
		s.send(w, true)
		got, ok, err := w.call(s.Context(), s.Store)
		if err != nil {
			s.Fatalf("second copy of %v: %v", w, err)
		}
		d := diff(s.item, got)
		if ok {
			d = diffAnswer(c, s.item, got)
		}
		if d != "" {
			s.Errorf("result of the second copy: %s", d)
		}
		s.check()
	}
}
