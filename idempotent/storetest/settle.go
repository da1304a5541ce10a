package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// settlements are the changes of an operator.
func settlements() map[string]driver.Change {
	completed, failed := finish(driver.Completed, "42"), finish(driver.Failed, `{"type":"T"}`)
	completed.Owner, failed.Owner = "operator-1", "operator-2"
	return map[string]driver.Change{
		"delete": release(driver.ReleaseDelete), "keep": release(driver.ReleaseKeep), "refund": release(driver.ReleaseRefund),
		"complete": completed, "fail": failed,
	}
}

// settled returns r after c.
func settled(r driver.Record, c driver.Change) driver.Record {
	switch {
	case c.Release == driver.ReleaseDelete:
		return driver.Record{}
	case c.Release != 0:
		return afterRelease(r, c.Release)
	}
	return finished(r, c)
}

func testSettle(o *operated) {
	for state, r := range o.states() {
		for name, c := range settlements() {
			if r.Status != driver.InProgress && c.Release != driver.ReleaseDelete {
				continue
			}
			o.Run(name+" "+state, func(t *testing.T) {
				o := o.under(t)
				r := o.plant(r)
				got, ok, err := o.Settle(o.Context(), o.inspect(), c)
				if err != nil || !ok {
					o.Fatalf("Settle: ok %v, error %v; met %s", ok, err, show(got.Record))
				}
				o.same("result of Settle", settled(r, c), got.Record)
				o.stored(settled(r, c))
			})
		}
	}
}

// testSettleChanged checks that Settle leaves a record that has changed since Inspect
// in any field: its owner may be running.
func testSettleChanged(o *operated) {
	for changed, change := range map[string]func(r *driver.Record){
		"a heartbeat": func(r *driver.Record) { r.Lease = r.Lease.Add(time.Millisecond) }, "a takeover": func(r *driver.Record) { r.Owner = "bob" },
		"a release": func(r *driver.Record) { *r = afterRelease(*r, driver.ReleaseKeep) }, "an attempt": func(r *driver.Record) { r.Attempt++ },
		"a refund": func(r *driver.Record) { r.Refunds++ }, "its retention": func(r *driver.Record) { r.Expires = r.Expires.Add(time.Second) },
		"a step": func(r *driver.Record) { *r = withStep(*r, "ship", "1") }, "a step's result": func(r *driver.Record) { *r = withStep(*r, "charge", "2") },
		"its fingerprint": func(r *driver.Record) { r.Fingerprint = "other" }, "its completion": func(r *driver.Record) { *r = finished(*r, finish(driver.Completed, "1")) },
		"its deletion": func(r *driver.Record) { *r = driver.Record{} }, "its lease": func(r *driver.Record) { r.Lease = time.Time{} },
	} {
		for name, c := range settlements() {
			o.Run(name+" after "+changed, func(t *testing.T) {
				o := o.under(t)
				r := o.plant(withStep(o.claim("alice"), "charge", "1"))
				shown := o.inspect()
				change(&r)
				r = o.plant(r)
				met, ok, err := o.Settle(o.Context(), shown, c)
				if err != nil || ok {
					o.Errorf("Settle: ok %v, error %v", ok, err)
				}
				o.same("record met by Settle", r, met.Record)
				o.stored(r)
			})
		}
	}
}

func testSettleInvalid(o *operated) {
	takeover := extend()
	takeover.Owner = "bob"
	ownerless, attached := finish(driver.Completed, "42"), settlements()["complete"]
	attached.With = unknown{}
	running := o.claim("alice")
	for name, c := range map[string]struct {
		record driver.Record
		change driver.Change
	}{
		"a takeover": {running, takeover}, "an extension": {running, extend()}, "a step": {running, step("a", "1")}, "nothing": {running, driver.Change{}},
		"a result without an owner": {running, ownerless}, "an attachment": {running, attached},
		"the release of a finished record": {finished(running, finish(driver.Completed, "42")), release(driver.ReleaseKeep)},
	} {
		o.Run(name, func(t *testing.T) {
			o := o.under(t)
			r := o.plant(c.record)
			_, ok, err := o.Settle(o.Context(), o.inspect(), c.change)
			var invalid *driver.InvalidWriteError
			if ok || !errors.As(err, &invalid) {
				o.Errorf("ok %v, error %v; want an *InvalidWriteError", ok, err)
			}
			o.stored(r)
		})
	}
	for name, c := range settlements() {
		// A store that took it for a record without attributes would create one.
		o.Run(name+" of an entry from a different kind of store", func(t *testing.T) {
			o := o.under(t)
			o.plant(running)
			shown := o.inspect()
			shown.Stored = struct{}{}
			gone := o.plant(driver.Record{})
			if _, ok, _ := o.Settle(o.Context(), shown, c); ok { // some stores refuse it, and some find no such record
				o.Error("Settle applied the change")
			}
			o.stored(gone)
		})
	}
	o.Run("a record that was not inspected", func(t *testing.T) {
		o := o.under(t)
		r := o.plant(running)
		if _, ok, err := o.Settle(o.Context(), driver.Entry{Record: r}, release(driver.ReleaseDelete)); ok || err == nil {
			o.Errorf("ok %v, error %v", ok, err)
		}
		o.stored(r)
	})
}

// testSettleRace checks that of a heartbeat and a release at the same moment one
// happens: with both, a call would run beside the next one.
func testSettleRace(o *operated) {
	for round := range 20 {
		o.Run(fmt.Sprint(round), func(t *testing.T) {
			o := o.under(t)
			r := o.plant(o.claim("alice"))
			shown := o.inspect()
			var extended, released bool
			var errExtend, errRelease error
			var both sync.WaitGroup
			both.Go(func() { _, extended, errExtend = o.Store.Change(o.Context(), fenceOf(r), extend()) })
			both.Go(func() {
				_, released, errRelease = o.Settle(o.Context(), shown, release(driver.ReleaseKeep))
			})
			both.Wait()
			if err := errors.Join(errExtend, errRelease); err != nil {
				o.Fatal(err)
			}
			if extended == released {
				o.Errorf("extended %v, released %v; the record is %s", extended, released, show(o.get()))
			}
		})
	}
}
