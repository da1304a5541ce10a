package storetest

import (
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
)

func testCommit(t *testing.T, h Harness) {
	commit := func(a attached) error {
		return a.Store.(driver.Transactional).Commit(a.Context(), a.id, a.with)
	}
	t.Run("commits", func(t *testing.T) {
		a := on(t, h).attach(false)
		if err := commit(a); err != nil {
			t.Fatal(err)
		}
		a.times(1)
		a.stored(driver.Record{})
		if err := commit(a); err != nil {
			t.Errorf("again: %v", err)
		}
		a.times(1)
	})
	t.Run("refused", func(t *testing.T) {
		a := on(t, h).attach(true)
		a.rejected(driver.Record{}, false, commit(a))
	})
	h.test(t, "leaves the record alone", func(s subject) {
		r := s.claimed("bob")
		a := s.attach(false)
		if err := commit(a); err != nil {
			s.Fatal(err)
		}
		a.times(1)
		s.stored(r)
	})
	t.Run("unknown with", func(t *testing.T) {
		for _, with := range []any{nil, unknown{}} {
			if err := h.Store.(driver.Transactional).Commit(t.Context(), t.Name(), with); err == nil {
				t.Errorf("Commit of a %T: no error", with)
			}
		}
	})
}

// testTransactInvalid attaches to writes that do not finish a record.
func testTransactInvalid(t *testing.T, h Harness) {
	for _, w := range ownWrites() {
		if w.change.Status != driver.Absent {
			continue
		}
		h.testClaimed(t, w.name, func(s subject, r driver.Record) {
			a := s.attach(false)
			s.refuses(fenceOf(r), a.to(w.change))
			a.times(0)
		})
	}
	h.test(t, "take over", func(s subject) {
		f, c, _ := takeOver(s.claimed("alice"), "bob")
		a := s.attach(false)
		s.refuses(f, a.to(c))
		a.times(0)
	})
	h.test(t, "claim", func(s subject) {
		a := s.attach(false)
		if _, ok, err := s.Store.Create(s.Context(), s.claim("alice"), now, a.with); err == nil || ok {
			s.Errorf("Create: ok %v, error %v; want an error", ok, err)
		}
		a.times(0)
		s.stored(driver.Record{})
	})
}
