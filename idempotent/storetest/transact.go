package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
)

// testTransact is for stores that are Transactional: what is attached is
// written with the record's own write, or neither is. Nothing is attached to
// other stores, which refuse all of it (see Nonsense).
func testTransact(t *testing.T, h Harness) {
	if h.Attach == nil {
		return // Abilities demands it of those that need it
	}
	for _, group := range []struct {
		name string
		run  func(t *testing.T, h Harness)
	}{
		{"own", testTransactOwn},
		{"adopt", testTransactAdopt},
		{"create", testTransactCreate},
		{"alone", testCommit},
		{"nonsense", testTransactNonsense},
	} {
		t.Run(group.name, func(t *testing.T) { group.run(t, h) })
	}
}

// attached is an attachment under test.
type attached struct {
	subject
	with      any
	committed func() int
}

// attach makes an attachment; refused, it has a condition that does not hold.
func (s subject) attach(refused bool) attached {
	s.Helper()
	with, committed := s.Attach(s.T, refused)
	if empty, err := with.Seal(); empty || err != nil {
		s.Fatalf("Seal: empty %v, error %v; want something to commit", empty, err)
	}
	return attached{s, with, committed}
}

func (a attached) times(want int) {
	a.Helper()
	if got := a.committed(); got != want {
		a.Errorf("the attachment was committed %d times, want %d", got, want)
	}
}

// rejected expects that the attachment was refused, and nothing written.
func (a attached) rejected(before idempotent.Record, ok bool, err error) {
	a.Helper()
	var rejected *idempotent.Rejected
	if ok || !errors.As(err, &rejected) || rejected.Err == nil {
		a.Errorf("ok %v, error %v; want a *Rejected with its reason", ok, err)
	}
	a.times(0)
	a.stored(before)
}

// to is c together with the attachment.
func (a attached) to(c idempotent.Change) idempotent.Change {
	c.With = a.with
	return c
}

func testTransactOwn(t *testing.T, h Harness) {
	for _, status := range []idempotent.Status{idempotent.Completed, idempotent.Failed} {
		c := finish(status, `{"id":"p-1"}`)
		t.Run(string(status), func(t *testing.T) {
			s := on(t, h)
			r := withStep(s.claimed("alice"), "charge", "1")
			s.wins(fenceOf(r), step("charge", "1"), r)
			a := s.attach(false)
			s.wins(fenceOf(r), a.to(c), finished(r, c))
			a.times(1)
		})
		t.Run(string(status)+" refused", func(t *testing.T) {
			s := on(t, h)
			r := s.claimed("alice")
			a := s.attach(true)
			_, ok, err := s.Store.Change(t.Context(), fenceOf(r), a.to(c))
			a.rejected(r, ok, err)
			// The owner may go on.
			s.wins(fenceOf(r), c, finished(r, c))
		})
	}
	c := finish(idempotent.Completed, "1")
	t.Run("again", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		a := s.attach(false)
		s.wins(fenceOf(r), a.to(c), finished(r, c))
		a.again(finished(r, c), func() (idempotent.Record, bool, error) {
			return s.Store.Change(t.Context(), fenceOf(r), a.to(c))
		})
	})
	t.Run("with other arguments is another call", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		a := s.attach(false)
		s.loses(idempotent.Fence{Owner: "mallory"}, a.to(c))
		a.times(0)
		s.wins(fenceOf(r), a.to(c), finished(r, c))
		a.times(1)
	})
	t.Run("two results are two calls", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		a := s.attach(false)
		s.wins(fenceOf(r), a.to(c), finished(r, c))
		s.loses(fenceOf(r), a.to(finish(idempotent.Completed, "2")))
		a.times(1)
	})
	t.Run("lost", func(t *testing.T) {
		for _, refused := range []bool{false, true} {
			// The record decides first, whatever the attachment would say.
			s := on(t, h)
			s.claimed("alice")
			a := s.attach(refused)
			s.loses(idempotent.Fence{Owner: "mallory"}, a.to(c))
			a.times(0)
			s.plant(idempotent.Record{})
		}
	})
	t.Run("lost against a result", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		s.wins(fenceOf(r), c, finished(r, c))
		a := s.attach(true)
		s.loses(fenceOf(r), a.to(finish(idempotent.Completed, "2")))
		a.times(0)
	})
	t.Run("lost against no record", func(t *testing.T) {
		s := on(t, h)
		a := s.attach(false)
		s.loses(idempotent.Fence{Owner: "alice"}, a.to(c))
		a.times(0)
	})
	t.Run("oversize", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		a := s.attach(false)
		c := finish(idempotent.Completed, string(noise(500<<10)))
		got, ok, err := s.Store.Change(t.Context(), fenceOf(r), a.to(c))
		if err != nil || !ok {
			t.Fatalf("Change: ok %v, error %v", ok, err)
		}
		want := finished(r, c)
		if got.Unavailable != "" {
			want.Data, want.Unavailable = nil, got.Unavailable
		}
		s.stored(want)
		a.times(1)
	})
}

// again makes a call that has succeeded once more, as one does whose answer was
// lost. It says that it is done, or meets what it has left.
func (a attached) again(want idempotent.Record, call func() (idempotent.Record, bool, error)) {
	a.Helper()
	got, ok, err := call()
	if err != nil || got.Status != want.Status || got.Owner != want.Owner {
		a.Errorf("again: ok %v, error %v, answer %s; want %s", ok, err, show(got), show(want))
	}
	a.times(1)
	a.stored(want)
}

func testTransactAdopt(t *testing.T, h Harness) {
	c := finish(idempotent.Completed, "alice's result")
	c.Owner = "alice"
	released := func(t *testing.T) (subject, idempotent.Record) {
		s := on(t, h)
		return s, s.plant(kept(withStep(s.claim("bob"), "charge", "1"), idempotent.ReleaseKeep))
	}
	t.Run("finishes", func(t *testing.T) {
		s, r := released(t)
		a := s.attach(false)
		s.wins(fenceOf(r), a.to(c), finished(r, c))
		a.times(1)
	})
	t.Run("refused", func(t *testing.T) {
		s, r := released(t)
		a := s.attach(true)
		_, ok, err := s.Store.Change(t.Context(), fenceOf(r), a.to(c))
		a.rejected(r, ok, err)
	})
	t.Run("lost", func(t *testing.T) {
		s, r := released(t)
		s.wins(takeOver(r, "carol"))
		a := s.attach(false)
		s.loses(fenceOf(r), a.to(c))
		a.times(0)
	})
}

func testTransactCreate(t *testing.T, h Harness) {
	result := func(s subject) idempotent.Record {
		return finished(s.claim("alice"), finish(idempotent.Completed, "42"))
	}
	create := func(a attached, r idempotent.Record, over time.Time) (idempotent.Record, bool, error) {
		return a.Store.Create(a.Context(), r, over, a.with)
	}
	writes := func(a attached, over time.Time) {
		a.Helper()
		r := result(a.subject)
		got, ok, err := create(a, r, over)
		if err != nil || !ok {
			a.Fatalf("Create: ok %v, error %v; met %s", ok, err, show(got))
		}
		a.same("answer of Create", r, got)
		a.stored(r)
		a.times(1)
	}
	meets := func(a attached, over time.Time) {
		a.Helper()
		before := a.get()
		got, ok, err := create(a, result(a.subject), over)
		if err != nil || ok {
			a.Fatalf("Create: ok %v, error %v; want a lost race against %s", ok, err, show(before))
		}
		a.same("record met by Create", before, got)
		a.stored(before)
		a.times(0)
	}
	t.Run("where no record is", func(t *testing.T) {
		writes(on(t, h).attach(false), now)
	})
	t.Run("only where no record is", func(t *testing.T) {
		writes(on(t, h).attach(false), time.Time{})
	})
	t.Run("failed", func(t *testing.T) {
		s := on(t, h)
		r := result(s)
		r.Status = idempotent.Failed
		a := s.attach(false)
		if _, ok, err := create(a, r, now); err != nil || !ok {
			t.Fatalf("Create: ok %v, error %v", ok, err)
		}
		s.stored(r)
		a.times(1)
	})
	t.Run("over a record that is over", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("bob")
		r.Lease, r.Expires = now.Add(-time.Hour), now.Add(-time.Hour)
		s.plant(r)
		writes(s.attach(false), now)
	})
	t.Run("not over it with the zero time", func(t *testing.T) {
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
			s.plant(finished(s.claim("bob"), finish(idempotent.Completed, "41")))
			meets(s.attach(refused), now)
		})
	}
	t.Run("refused", func(t *testing.T) {
		s := on(t, h)
		a := s.attach(true)
		_, ok, err := create(a, result(s), now)
		a.rejected(idempotent.Record{}, ok, err)
	})
	t.Run("again", func(t *testing.T) {
		s := on(t, h)
		a := s.attach(false)
		writes(a, now)
		a.again(result(s), func() (idempotent.Record, bool, error) { return create(a, result(s), now) })
	})
}

func testCommit(t *testing.T, h Harness) {
	commit := func(a attached) error {
		return a.Store.(idempotent.Transactional).Commit(a.Context(), a.id, a.with)
	}
	t.Run("commits", func(t *testing.T) {
		a := on(t, h).attach(false)
		if err := commit(a); err != nil {
			t.Fatal(err)
		}
		a.times(1)
		a.stored(idempotent.Record{})
		if err := commit(a); err != nil {
			t.Errorf("again: %v", err)
		}
		a.times(1)
	})
	t.Run("refused", func(t *testing.T) {
		a := on(t, h).attach(true)
		a.rejected(idempotent.Record{}, false, commit(a))
	})
	t.Run("leaves the record alone", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("bob")
		a := s.attach(false)
		if err := commit(a); err != nil {
			t.Fatal(err)
		}
		a.times(1)
		s.stored(r)
	})
	t.Run("unknown with", func(t *testing.T) {
		for _, with := range []any{nil, unknown{}} {
			if err := h.Store.(idempotent.Transactional).Commit(t.Context(), t.Name(), with); err == nil {
				t.Errorf("Commit of a %T: no error", with)
			}
		}
	})
}

// testTransactNonsense attaches to what does not finish a record.
func testTransactNonsense(t *testing.T, h Harness) {
	for _, w := range ownWrites() {
		if w.change.Status != idempotent.Absent {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			s := on(t, h)
			r := s.claimed("alice")
			a := s.attach(false)
			s.refuses(fenceOf(r), a.to(w.change))
			a.times(0)
		})
	}
	t.Run("take over", func(t *testing.T) {
		s := on(t, h)
		f, c, _ := takeOver(s.claimed("alice"), "bob")
		a := s.attach(false)
		s.refuses(f, a.to(c))
		a.times(0)
	})
	t.Run("claim", func(t *testing.T) {
		s := on(t, h)
		a := s.attach(false)
		if _, ok, err := s.Store.Create(t.Context(), s.claim("alice"), now, a.with); err == nil || ok {
			t.Errorf("Create: ok %v, error %v; want an error", ok, err)
		}
		a.times(0)
		s.stored(idempotent.Record{})
	})
}
