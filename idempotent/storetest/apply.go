package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// changes are the changes of an operator.
func changes() map[string]driver.Change {
	failed := adopt("operator-2")
	failed.Status, failed.Ended = driver.Failed, operators("bob")
	unsaid := but(adopt("operator-3"), func(c *driver.Change) { c.Ended = driver.Ending{} })
	return map[string]driver.Change{
		"delete": del, "keep": keep, "refund": refund, "complete": adopt("operator-1"), "fail": failed, "complete without an ending": unsaid,
	}
}

// applies expects that an operator changes the record that was shown.
func applies(c driver.Change) act {
	return func(s *subject) {
		got, ok, err := s.operable().Apply(s.Context(), s.shown, c)
		if err != nil || !ok {
			s.Fatalf("Apply: ok %v, error %v; met %s", ok, err, show(got.Record))
		}
		if s.item = after(s.item, c); c.Release != 0 {
			s.item.Began = time.Time{}
		}
		s.same("result of Apply", s.item, got.Record)
		s.check()
	}
}

// appliesNot expects that Apply leaves a record that is not the one that was shown.
func appliesNot(c driver.Change) act {
	return func(s *subject) {
		met, ok, err := s.operable().Apply(s.Context(), s.shown, c)
		if err != nil || ok {
			s.Errorf("Apply: ok %v, error %v", ok, err)
		}
		s.same("record met by Apply", s.item, met.Record)
		s.check()
	}
}

// refusesToApply expects that Apply refuses a write that no operator makes.
func refusesToApply(c driver.Change) act {
	return func(s *subject) {
		_, ok, err := s.operable().Apply(s.Context(), s.shown, c)
		var invalid *driver.InvalidWriteError
		if ok || !errors.As(err, &invalid) {
			s.Errorf("ok %v, error %v; want an *InvalidWriteError", ok, err)
		}
		s.check()
	}
}

func testApply(t *testing.T, h Harness) {
	for state, r := range states() {
		for name, c := range changes() {
			again := r.Resolved() && c.Release == 0
			if r.Status == driver.InProgress || c.Release == driver.ReleaseDelete || again {
				h.test(t, name+" "+state, plants(r), inspects, applies(c))
			}
		}
	}
}

// testApplyChanged checks that Apply leaves a record that has changed since Inspect
// in any field: its owner may be running.
func testApplyChanged(t *testing.T, h Harness) {
	for changed, change := range map[string]func(r *driver.Record){
		"a heartbeat":     func(r *driver.Record) { r.Lease = r.Lease.Add(time.Millisecond) },
		"a takeover":      func(r *driver.Record) { r.Owner = "bob" },
		"a release":       func(r *driver.Record) { *r = after(*r, keep) },
		"an attempt":      func(r *driver.Record) { r.Attempt++ },
		"a refund":        func(r *driver.Record) { r.Refunds++ },
		"its retention":   func(r *driver.Record) { r.Expires = r.Expires.Add(time.Second) },
		"a step":          func(r *driver.Record) { *r = withStep(*r, "ship", "1") },
		"a step's result": func(r *driver.Record) { *r = withStep(*r, "charge", "2") },
		"its fingerprint": func(r *driver.Record) { r.Fingerprint = "other" },
		"its completion":  func(r *driver.Record) { *r = after(*r, finish(driver.Completed, "1")) },
		"its deletion":    func(r *driver.Record) { *r = driver.Record{} },
		"its lease":       leaseless,
		"its beginning":   func(r *driver.Record) { r.Began = time.Time{} },
	} {
		for name, c := range changes() {
			h.test(t, name+" after "+changed, plants(withStep(claim("alice"), "charge", "1")), inspects,
				replanted(change), appliesNot(c))
		}
	}
	for name, c := range changes() {
		if c.Status != driver.Absent || c.Release == driver.ReleaseDelete {
			h.test(t, name+" after its ending", plants(after(claim("alice"), resolved)), inspects,
				replanted(func(r *driver.Record) { r.Ended = operators("bob") }), appliesNot(c))
		}
	}
}

func testApplyInvalid(t *testing.T, h Harness) {
	attached := but(adopt("operator-1"), func(c *driver.Change) { c.With = unknown{} })
	for name, c := range map[string]driver.Change{
		"a takeover": takeOver("bob"), "an extension": extend(), "a step": step("a", "1"), "nothing": {},
		"a result without an owner": finish(driver.Completed, "42"), "an attachment": attached,
	} {
		h.test(t, name, planted(), inspects, refusesToApply(c))
	}
	h.test(t, "the release of a finished record", plants(result()), inspects, refusesToApply(keep))
	h.test(t, "the release of a resolved record", plants(after(claim("alice"), adopt("operator-0"))), inspects, refusesToApply(keep))
	h.test(t, "another result of a finished record", plants(result()), inspects, refusesToApply(adopt("operator-1")))
	for name, c := range changes() {
		// A store that took it for a record without attributes would create one.
		name += " of an entry from a different kind of store"
		h.test(t, name, planted(), inspects, plants(driver.Record{}), func(s *subject) {
			s.shown.Stored = struct{}{}
			// Some stores refuse it, and some find no such record.
			if _, ok, _ := s.operable().Apply(s.Context(), s.shown, c); ok {
				s.Error("Apply applied the change")
			}
		}, (*subject).check)
	}
	h.test(t, "a record that was not inspected", planted(), func(s *subject) {
		s.shown = driver.Entry{Record: s.item}
	}, refusesToApply(del))
}

// testApplyRace checks that of a heartbeat and a release at the same moment one
// happens: with both, a call would run beside the next one.
func testApplyRace(t *testing.T, h Harness) {
	for round := range 20 {
		h.test(t, fmt.Sprint(round), planted(), inspects, func(s *subject) {
			var extended, released bool
			var errExtend, errRelease error
			var both sync.WaitGroup
			both.Go(func() { _, extended, errExtend = s.alteration(extend()).call(s.Context(), s.Store) })
			both.Go(func() { _, released, errRelease = s.operable().Apply(s.Context(), s.shown, keep) })
			both.Wait()
			if err := errors.Join(errExtend, errRelease); err != nil {
				s.Fatal(err)
			}
			if extended == released {
				s.Errorf("extended %v, released %v; the record is %s", extended, released, show(s.get()))
			}
		})
	}
}
