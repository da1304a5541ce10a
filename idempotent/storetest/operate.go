package storetest

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// testOperate checks an Operable, and does nothing for a store that is none.
func testOperate(t *testing.T, h Harness) {
	if _, able := h.Store.(driver.Operable); !able {
		return
	}
	for name, run := range map[string]func(*testing.T, Harness){
		"inspect":       testInspect,
		"scan":          testScan,
		"apply":         testApply,
		"apply changed": testApplyChanged,
		"apply invalid": testApplyInvalid,
		"apply race":    testApplyRace,
		"redact":        testRedact,
	} {
		t.Run(name, func(t *testing.T) { run(t, h) })
	}
}

func (s *subject) operable() driver.Operable { return s.Store.(driver.Operable) }

// inspects shows the record to an operator.
func inspects(s *subject) {
	s.Helper()
	e, err := s.operable().Inspect(s.Context(), s.id)
	if err != nil {
		s.Fatalf("Inspect: %v", err)
	}
	s.same("Inspect", s.item, e.Record)
	if len(e.Problems) > 0 {
		s.Errorf("problems %q", e.Problems)
	}
	s.shown = e
}

// states returns a record of each kind that an operator meets.
func states() map[string]driver.Record {
	running := claim("alice")
	return map[string]driver.Record{
		"running": running, "with a request": but(running, requested), "with a step": withStep(running, "charge", "1"), "released": after(running, refund),
		"of another library": foreign(), "without a lease": but(foreign(), leaseless),
		"completed": result(), "failed": after(running, finish(driver.Failed, `{"type":"T"}`)),
		"resolved": after(running, resolved),
	}
}

func testInspect(t *testing.T, h Harness) {
	for name, r := range states() {
		h.test(t, name, plants(r), inspects, func(s *subject) {
			if s.shown.At.IsZero() {
				s.Error("no server's time")
			}
			if s.shown.Size <= len(s.shown.Data) {
				s.Errorf("size %d", s.shown.Size)
			}
		})
	}
	h.test(t, "absent", inspects)
}

// all returns the records that f selects, read page by page.
func (s *subject) all(f driver.Filter) map[string]driver.Record {
	s.Helper()
	found := map[string]driver.Record{}
	for after := ""; ; {
		p, err := s.operable().Scan(s.Context(), f, after)
		if err != nil {
			s.Fatalf("Scan: %v", err)
		}
		if p.At.IsZero() {
			s.Error("a page without the server's time")
		}
		for _, e := range p.Entries {
			found[e.ID] = e.Record
		}
		if after = p.Next; after == "" {
			return found
		}
	}
}

func testScan(t *testing.T, h Harness) {
	s, want := on(t, h), map[string]driver.Record{}
	for name, r := range states() {
		r.ID = s.id + "/" + name
		want[r.ID] = r
	}
	stays := want[s.id+"/running"]
	stays.ID, stays.Expires = s.id+"/a lease past its retention", now.Add(-time.Hour)
	want[stays.ID] = stays
	for _, r := range want {
		h.Plant(t, r)
	}
	for name, f := range map[string]driver.Filter{
		"all": {}, "in small pages": {Limit: 2}, "brief": {Brief: true}, "by status": {Status: driver.Completed},
		"by prefix": {Prefix: s.id + "/r"},
		"expired":   {Expired: now.Add(2 * lease)}, "expired in pages": {Expired: now.Add(48 * time.Hour), Limit: 1},
		"lapsed": {Lapsed: now.Add(2 * lease)}, "lapsed and brief": {Lapsed: now, Brief: true},
		"brief, by status and prefix": {Status: driver.InProgress, Prefix: s.id + "/w", Brief: true},
	} {
		if f.Prefix == "" {
			f.Prefix = s.id + "/"
		}
		h.test(t, name, func(s *subject) {
			found := s.all(f)
			for id, r := range want {
				got, ok := found[id]
				delete(found, id)
				if ok != f.Selects(r) {
					s.Errorf("%s: found %v", id, ok)
				}
				if f.Brief {
					r.Data, r.Steps, r.Request = nil, nil, nil
				}
				if ok {
					s.same(id, r, got)
				}
			}
			if len(found) > 0 {
				s.Errorf("besides: %v", slices.Collect(maps.Keys(found)))
			}
		})
	}
}

// testSweep checks a Sweeper, and does nothing for a store that is none.
func testSweep(t *testing.T, h Harness) {
	sweeper, able := h.Store.(driver.Sweeper)
	if !able {
		return
	}
	s := on(t, h)
	var expired int
	for name, r := range states() {
		for state, end := range map[string]time.Time{"expired": now.Add(-time.Hour), "this second": now, "live": now.Add(time.Hour), "never": {}} {
			r.ID, r.Expires = t.Name()+"/"+name+", "+state, end
			h.Plant(t, r)
			if r.Expired(now) {
				expired++
			}
		}
	}
	before := len(s.all(driver.Filter{}))
	deleted, pages := 0, 0
	for after := ""; ; pages++ {
		n, p, err := sweeper.Sweep(t.Context(), now, 2, after)
		if err != nil {
			t.Fatalf("Sweep: %v", err)
		}
		if n > 2 {
			t.Errorf("%d records deleted; the limit is 2", n)
		}
		if deleted += n; p.Next == "" {
			break
		}
		after = p.Next
	}
	left := s.all(driver.Filter{})
	if deleted != expired || len(left) != before-expired {
		t.Errorf("deleted %d, and %d of %d records are left; want %d deleted", deleted, len(left), before, expired)
	}
	for id, r := range left {
		if r.Expired(now) {
			t.Errorf("%s is left", id)
		}
	}
}
