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
	adopt := finish(driver.Completed, "1")
	adopt.Owner = "alice"
	type write struct {
		name   string
		start  func(s subject) driver.Record
		change func(r driver.Record) driver.Change
	}
	takeOver := func(r driver.Record) driver.Change {
		_, c, _ := takeOver(r, "bob")
		return c
	}
	writes := []write{
		{"take over", func(s subject) driver.Record {
			r := s.claim("alice")
			r.Lease = now.Add(-time.Minute)
			return r
		}, takeOver},
		{"take over a foreign record", subject.foreign, takeOver},
		{"adopt", func(s subject) driver.Record {
			return afterRelease(s.claim("bob"), driver.ReleaseKeep)
		}, func(driver.Record) driver.Change { return adopt }},
	}
	for _, w := range ownWrites() {
		writes = append(writes, write{w.name, func(s subject) driver.Record {
			r := s.claim("alice")
			r.Attempt, r.Steps = 2, map[string][]byte{}
			return r
		}, func(driver.Record) driver.Change { return w.change }})
	}
	for _, w := range writes {
		h.test(t, w.name, func(s subject) {
			r := s.plant(w.start(s))
			s.twice(fenceOf(r), w.change(r))
		})
	}
}

// twice expects that c is applied, and that a second copy changes nothing.
func (s subject) twice(f driver.Fence, c driver.Change) {
	s.Helper()
	f.ID = s.id
	if met, ok, err := s.Store.Change(s.Context(), f, c); err != nil || !ok {
		s.Fatalf("%s: ok %v, error %v; met %s", showChange(f, c), ok, err, show(met))
	}
	after := s.get()
	got, ok, err := s.Store.Change(s.Context(), f, c)
	if err != nil {
		s.Fatalf("second copy of %s: %v", showChange(f, c), err)
	}
	if ok {
		if d := diffAnswer(c, after, got); d != "" {
			s.Errorf("result of the second copy: %s", d)
		}
	} else {
		s.same("record met by the second copy", after, got)
	}
	s.stored(after)
}
