package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testTransactCreate(t *testing.T, h Harness) {
	result := func(s subject) driver.Record {
		return finished(s.claim("alice"), finish(driver.Completed, "42"))
	}
	create := func(a attached, r driver.Record, cutoff time.Time) (driver.Record, bool, error) {
		return a.Store.Create(a.Context(), r, cutoff, a.with)
	}
	writes := func(a attached, cutoff time.Time) {
		a.Helper()
		r := result(a.subject)
		got, ok, err := create(a, r, cutoff)
		if err != nil || !ok {
			a.Fatalf("Create: ok %v, error %v; met %s", ok, err, show(got))
		}
		a.same("result of Create", r, got)
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
	t.Run("without a record", func(t *testing.T) {
		writes(on(t, h).attach(false), now)
	})
	t.Run("without a record, with a zero cutoff", func(t *testing.T) {
		writes(on(t, h).attach(false), time.Time{})
	})
	t.Run("failed", func(t *testing.T) {
		s := on(t, h)
		r := result(s)
		r.Status = driver.Failed
		a := s.attach(false)
		if _, ok, err := create(a, r, now); err != nil || !ok {
			t.Fatalf("Create: ok %v, error %v", ok, err)
		}
		s.stored(r)
		a.times(1)
	})
	t.Run("over an expired record", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("bob")
		r.Lease, r.Expires = now.Add(-time.Hour), now.Add(-time.Hour)
		s.plant(r)
		writes(s.attach(false), now)
	})
	t.Run("not over an expired record with a zero cutoff", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("bob")
		r.Lease, r.Expires = now.Add(-time.Hour), now.Add(-time.Hour)
		s.plant(r)
		meets(s.attach(false), time.Time{})
	})
	for _, refused := range []bool{false, true} {
		name := map[bool]string{false: "", true: " and would be refused"}[refused]
		t.Run("meets a live claim"+name, func(t *testing.T) {
			s := on(t, h)
			s.claimed("bob")
			meets(s.attach(refused), now)
		})
		t.Run("meets a lapsed claim"+name, func(t *testing.T) {
			s := on(t, h)
			r := s.claim("bob")
			r.Lease = now.Add(-time.Hour)
			s.plant(r)
			meets(s.attach(refused), now)
		})
		t.Run("meets a result"+name, func(t *testing.T) {
			s := on(t, h)
			s.plant(finished(s.claim("bob"), finish(driver.Completed, "41")))
			meets(s.attach(refused), now)
		})
	}
	t.Run("refused", func(t *testing.T) {
		s := on(t, h)
		a := s.attach(true)
		_, ok, err := create(a, result(s), now)
		a.rejected(driver.Record{}, ok, err)
	})
	t.Run("again", func(t *testing.T) {
		s := on(t, h)
		a := s.attach(false)
		writes(a, now)
		a.again(result(s), func() (driver.Record, bool, error) { return create(a, result(s), now) })
	})
}
