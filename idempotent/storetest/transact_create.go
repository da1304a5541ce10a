package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testTransactCreate(t *testing.T, h Harness) {
	result := func(s subject) driver.Record { return finished(s.claim("alice"), finish(driver.Completed, "42")) }
	create := func(a attached, r driver.Record, cutoff time.Time) (driver.Record, bool, error) {
		return a.Store.Create(a.Context(), r, cutoff, a.with)
	}
	writes := func(a attached, cutoff time.Time) {
		a.Helper()
		r := result(a.subject)
		a.same("result of Create", r, a.written(create(a, r, cutoff)))
		a.stored(r)
		a.times(1)
	}
	meets := func(a attached, cutoff time.Time) {
		a.Helper()
		before := a.get()
		got, ok, err := create(a, result(a.subject), cutoff)
		if err != nil || ok {
			a.Fatalf("Create: ok %v, error %v; want a lost race against %s", ok, err, show(before))
		}
		a.same("record met by Create", before, got)
		a.stored(before)
		a.times(0)
	}
	for name, cutoff := range map[string]time.Time{"without a record": now, "without a record, with a zero cutoff": {}} {
		h.test(t, name, func(s subject) { writes(s.attach(false), cutoff) })
	}
	h.test(t, "failed", func(s subject) {
		r := result(s)
		r.Status = driver.Failed
		a := s.attach(false)
		s.written(create(a, r, now))
		s.stored(r)
		a.times(1)
	})
	expired := func(r *driver.Record) { r.Owner, r.Lease, r.Expires = "bob", now.Add(-time.Hour), now.Add(-time.Hour) }
	h.test(t, "over an expired record", func(s subject) {
		s.planted(expired)
		writes(s.attach(false), now)
	})
	h.test(t, "not over an expired record with a zero cutoff", func(s subject) {
		s.planted(expired)
		meets(s.attach(false), time.Time{})
	})
	for _, refused := range []bool{false, true} {
		name := map[bool]string{false: "", true: " and would be refused"}[refused]
		for met, change := range map[string]func(r *driver.Record){
			"a live claim":   func(*driver.Record) {},
			"a lapsed claim": func(r *driver.Record) { r.Lease = now.Add(-time.Hour) },
			"a result":       func(r *driver.Record) { *r = finished(*r, finish(driver.Completed, "41")) },
		} {
			h.test(t, "meets "+met+name, func(s subject) {
				s.planted(func(r *driver.Record) { r.Owner = "bob"; change(r) })
				meets(s.attach(refused), now)
			})
		}
	}
	h.test(t, "refused", func(s subject) {
		a := s.attach(true)
		_, ok, err := create(a, result(s), now)
		a.rejected(driver.Record{}, ok, err)
	})
	h.test(t, "again", func(s subject) {
		a := s.attach(false)
		writes(a, now)
		a.again(result(s), func() (driver.Record, bool, error) { return create(a, result(s), now) })
	})
}
