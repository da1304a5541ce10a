package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// testReplay sends every write twice, as a client does after a lost answer. The
// second copy succeeds again or meets what the first one left. In either case
// it changes nothing.
func testReplay(t *testing.T, h Harness) {
	adopt := finish(driver.Completed, "1")
	adopt.Owner = "alice"
	writes := []struct {
		name   string
		start  func(s subject) driver.Record
		change func(r driver.Record) driver.Change
	}{
		{"take over", subject.lapsed, func(r driver.Record) driver.Change {
			_, c, _ := takeOver(r, "bob")
			return c
		}},
		{"take over a foreign record", subject.foreign, func(r driver.Record) driver.Change {
			_, c, _ := takeOver(r, "bob")
			return c
		}},
		{"adopt", func(s subject) driver.Record {
			return afterRelease(s.claim("bob"), driver.ReleaseKeep)
		}, func(driver.Record) driver.Change { return adopt }},
	}
	for _, w := range ownWrites() {
		writes = append(writes, struct {
			name   string
			start  func(s subject) driver.Record
			change func(r driver.Record) driver.Change
		}{w.name, func(s subject) driver.Record {
			r := s.claim("alice")
			r.Attempt, r.Steps = 2, map[string][]byte{}
			return r
		}, func(driver.Record) driver.Change { return w.change }})
	}
	for _, w := range writes {
		t.Run(w.name, func(t *testing.T) {
			s := on(t, h)
			r := s.plant(w.start(s))
			s.twice(fenceOf(r), w.change(r))
		})
	}
	t.Run("create", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		s.meets(r, now)
	})
	t.Run("create over an expired record", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("alice")
		r.Lease, r.Expires = now.Add(-2*time.Hour), now.Add(-time.Hour)
		s.plant(r)
		s.creates(s.claim("bob"), now)
		s.meets(s.claim("bob"), now)
	})
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

// lapsed returns the record of an owner whose lease has lapsed.
func (s subject) lapsed() driver.Record {
	r := s.claim("alice")
	r.Lease = now.Add(-time.Minute)
	return r
}
