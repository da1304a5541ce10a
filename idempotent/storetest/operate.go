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
	o, able := h.Store.(driver.Operable)
	if !able {
		return
	}
	for name, run := range map[string]func(*operated){
		"inspect":        testInspect,
		"scan":           testScan,
		"settle":         testSettle,
		"settle changed": testSettleChanged,
		"settle invalid": testSettleInvalid,
		"settle race":    testSettleRace,
	} {
		t.Run(name, func(t *testing.T) { run(&operated{on(t, h), o}) })
	}
}

// operated is one record of an Operable under test.
type operated struct {
	subject
	driver.Operable
}

// under returns a record of its own.
func (o *operated) under(t *testing.T) *operated { return &operated{on(t, o.Harness), o.Operable} }

func (o *operated) inspect() driver.Entry {
	o.Helper()
	e, err := o.Inspect(o.Context(), o.id)
	if err != nil {
		o.Fatalf("Inspect: %v", err)
	}
	return e
}

// states returns a record of each kind that an operator meets.
func (o *operated) states() map[string]driver.Record {
	running := o.claim("alice")
	steps := withStep(running, "charge", "1")
	released := afterRelease(running, driver.ReleaseRefund)
	leaseless := o.foreign()
	leaseless.Lease = time.Time{}
	return map[string]driver.Record{
		"running": running, "with a step": steps, "released": released, "of another library": o.foreign(), "without a lease": leaseless,
		"completed": finished(running, finish(driver.Completed, "42")), "failed": finished(running, finish(driver.Failed, `{"type":"T"}`)),
	}
}

func testInspect(o *operated) {
	for name, r := range o.states() {
		o.Run(name, func(t *testing.T) {
			o := o.under(t)
			want := o.plant(r)
			e := o.inspect()
			o.same("Inspect", want, e.Record)
			if len(e.Problems) > 0 {
				o.Errorf("problems %q", e.Problems)
			}
			if e.At.IsZero() {
				o.Error("no server's time")
			}
			if e.Size <= len(e.Data) {
				o.Errorf("size %d", e.Size)
			}
		})
	}
	o.Run("absent", func(t *testing.T) {
		if e := o.under(t).inspect(); e.Status != driver.Absent || len(e.Problems) > 0 {
			t.Errorf("%+v", e)
		}
	})
}

// all returns the records that f selects, read page by page.
func (o *operated) all(f driver.Filter) map[string]driver.Record {
	o.Helper()
	found := map[string]driver.Record{}
	for after := ""; ; {
		p, err := o.Scan(o.Context(), f, after)
		if err != nil {
			o.Fatalf("Scan: %v", err)
		}
		if p.At.IsZero() {
			o.Error("a page without the server's time")
		}
		for _, e := range p.Entries {
			found[e.ID] = e.Record
		}
		if after = p.Next; after == "" {
			return found
		}
	}
}

func testScan(o *operated) {
	want := map[string]driver.Record{}
	for name, r := range o.states() {
		r.ID = o.id + "/" + name
		o.Plant(o.T, r)
		want[r.ID] = r
	}
	stays := want[o.id+"/running"]
	stays.ID, stays.Expires = o.id+"/a lease past its retention", now.Add(-time.Hour)
	o.Plant(o.T, stays)
	want[stays.ID] = stays
	for name, f := range map[string]driver.Filter{
		"all": {}, "in small pages": {Limit: 2}, "brief": {Brief: true}, "by status": {Status: driver.Completed},
		"by prefix": {Prefix: o.id + "/r"}, "expired": {Expired: now.Add(2 * lease)}, "expired in pages": {Expired: now.Add(48 * time.Hour), Limit: 1},
		"brief, by status and prefix": {Status: driver.InProgress, Prefix: o.id + "/w", Brief: true},
	} {
		o.Run(name, func(t *testing.T) {
			if f.Prefix == "" {
				f.Prefix = o.id + "/"
			}
			s := &operated{subject{t, o.Harness, o.id}, o.Operable}
			found := s.all(f)
			for id, r := range want {
				got, ok := found[id]
				delete(found, id)
				if ok != f.Selects(r) {
					t.Errorf("%s: found %v", id, ok)
				}
				if !ok {
					continue
				}
				if f.Brief {
					r.Data, r.Steps = nil, nil
				}
				s.same(id, r, got)
			}
			if len(found) > 0 {
				t.Errorf("besides: %v", slices.Collect(maps.Keys(found)))
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
	o := &operated{on(t, h), sweeper}
	var expired int
	for name, r := range o.states() {
		for state, end := range map[string]time.Time{"expired": now.Add(-time.Hour), "live": now.Add(time.Hour), "never": {}} {
			r.ID, r.Expires = t.Name()+"/"+name+", "+state, end
			h.Plant(t, r)
			if r.Expired(now) {
				expired++
			}
		}
	}
	before := len(o.all(driver.Filter{}))
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
	left := o.all(driver.Filter{})
	if deleted != expired || len(left) != before-expired {
		t.Errorf("deleted %d, and %d of %d records are left; want %d deleted", deleted, len(left), before, expired)
	}
	for id, r := range left {
		if r.Expired(now) {
			t.Errorf("%s is left", id)
		}
	}
}
