package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// subject is one record of a store under test.
type subject struct {
	*testing.T
	Harness
	id     string
	item   driver.Record // as the store must contain it
	read   driver.Record // as a caller has read it
	shown  driver.Entry  // as an operator has inspected it
	writes int           // sent so far: a failure names the write by it
	attached
}

// An act is a part of a case: it prepares the record, or makes a write and states
// whether the write wins.
type act func(s *subject)

// on returns a subject whose record is named after the test, so that tests
// share a store but no record.
func on(t *testing.T, h Harness) *subject { return &subject{T: t, Harness: h, id: t.Name()} }

// test runs a case on a record of its own.
func (h Harness) test(t *testing.T, name string, acts ...act) {
	t.Helper()
	t.Run(name, func(t *testing.T) { on(t, h).do(acts...) })
}

func (s *subject) do(acts ...act) {
	for _, a := range acts {
		a(s)
	}
}

// then returns an act that consists of several acts.
func then(acts ...act) act { return func(s *subject) { s.do(acts...) } }

// another returns a second record of the same test.
func (s *subject) another(suffix string) *subject {
	return &subject{T: s.T, Harness: s.Harness, id: s.id + suffix}
}

func (s *subject) get() driver.Record {
	s.Helper()
	r, err := s.Store.Get(s.Context(), s.id)
	if err != nil {
		s.Fatalf("Get: %v", err)
	}
	return r
}

// check compares the stored record with the one that the store must contain.
func (s *subject) check() {
	s.Helper()
	s.same("Get", s.item, s.get())
}

func (s *subject) same(what string, want, got driver.Record) {
	s.Helper()
	if d := diff(want, got); d != "" {
		s.Fatalf("%s: %s", what, d)
	}
}

func (s *subject) plant(r driver.Record) {
	s.Helper()
	r.ID = s.id
	s.Plant(s.T, r)
	s.item = r
	s.check()
}

// plants plants r without a condition.
func plants(r driver.Record) act { return func(s *subject) { s.plant(r) } }

// planted plants a record of alice's with changes.
func planted(changes ...func(r *driver.Record)) act { return plants(but(claim("alice"), changes...)) }

// replanted plants the stored record with a change.
func replanted(change func(r *driver.Record)) act {
	return func(s *subject) { s.plant(but(s.item, change)) }
}

// claimed lets alice create the record.
func claimed(s *subject) { s.do(creates(claim("alice"), now)) }

// An edit changes a write before it is sent. Without one, the fence compares
// everything that is stored.
type edit func(s *subject, w *write)

// as is the fence of owner, which is otherwise up to date.
func as(owner string) edit { return under(func(f *driver.Fence) { f.Owner = owner }) }

// by is the fence of owner with a wrong attempt and lease, which its own writes do not
// compare.
func by(owner string) edit {
	return under(func(f *driver.Fence) { f.Owner, f.Attempt, f.Lease = owner, 9, now })
}

// under is a fence with a change.
func under(change func(f *driver.Fence)) edit { return func(_ *subject, w *write) { change(&w.fence) } }

// reads lets a caller read the record. Under the edit asRead, its writes depend on that.
func reads(s *subject) { s.read = s.item }

func asRead(s *subject, w *write) { w.fence = fenceOf(s.read) }

// alteration returns a call of Change.
func (s *subject) alteration(c driver.Change, edits ...edit) *write {
	fence := fenceOf(s.item)
	fence.ID = s.id
	return s.edited(alteration(fence, c), edits)
}

// creation returns a call of Create.
func (s *subject) creation(r driver.Record, cutoff time.Time, edits ...edit) *write {
	r.ID = s.id
	return s.edited(creation(r, cutoff), edits)
}

func (s *subject) edited(w *write, edits []edit) *write {
	for _, e := range edits {
		e(s, w)
	}
	return w
}

// send makes a write and expects that it wins, or that it does not. It compares the
// answer and the stored record with the model.
func (s *subject) send(w *write, wins bool) {
	s.Helper()
	s.writes++
	after, ok, err := w.send(s.Context(), s.Store, s.item)
	switch {
	case err != nil:
		s.Fatalf("write %d: %v", s.writes, err)
	case ok != wins:
		s.Fatalf("write %d: %v: ok %v, want %v; the record is %s", s.writes, w, ok, wins, show(s.item))
	}
	s.item = after
	s.check()
}

// creates expects that r is written, with an empty set of steps or none.
func creates(r driver.Record, cutoff time.Time, edits ...edit) act {
	return func(s *subject) { s.send(s.creation(r, cutoff, edits...), true) }
}

// meets expects that r is not written and that Create returns the stored record.
func meets(r driver.Record, cutoff time.Time, edits ...edit) act {
	return func(s *subject) { s.send(s.creation(r, cutoff, edits...), false) }
}

// wins expects that c is applied.
func wins(c driver.Change, edits ...edit) act {
	return func(s *subject) { s.send(s.alteration(c, edits...), true) }
}

// loses expects that c is not applied and that Change returns the stored record.
func loses(c driver.Change, edits ...edit) act {
	return func(s *subject) { s.send(s.alteration(c, edits...), false) }
}

// refuses expects an error and that nothing changes.
func refuses(c driver.Change, edits ...edit) act {
	return func(s *subject) { s.refuses(s.alteration(c, edits...)) }
}

// refusesToCreate is refuses for a call of Create.
func refusesToCreate(r driver.Record, cutoff time.Time, edits ...edit) act {
	return func(s *subject) { s.refuses(s.creation(r, cutoff, edits...)) }
}

func (s *subject) refuses(w *write) {
	s.Helper()
	got, ok, err := w.call(s.Context(), s.Store)
	if err == nil || ok {
		s.Errorf("%v: ok %v, error %v, returned %s; want an error", w, ok, err, show(got))
	}
	// FailOpen would run the handler unprotected in every call.
	if errors.Is(err, driver.ErrUnavailable) {
		s.Errorf("%v: %v wraps ErrUnavailable", w, err)
	}
	s.check()
}
