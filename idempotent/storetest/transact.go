package storetest

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// testAbilities checks that a decorator implements the optional interfaces of
// its store. Otherwise it would disable them silently.
func testAbilities(t *testing.T, h Harness) {
	_, able := h.Store.(driver.Transactional)
	if _, inner := h.Decorates.(driver.Transactional); inner && !able {
		t.Errorf("%T is Transactional, and %T, which decorates it, is not", h.Decorates, h.Store)
	}
	_, observed := h.Store.(idempotent.Observed)
	if _, inner := h.Decorates.(idempotent.Observed); inner && !observed {
		t.Errorf("%T is Observed, and %T, which decorates it, is not: its calls would write no metrics", h.Decorates, h.Store)
	}
	if able && h.Attach == nil {
		t.Errorf("%T is Transactional: the Harness needs Attach", h.Store)
	}
}

// testTransact checks that a Transactional store commits an attachment together
// with the record, or neither of them. Group Invalid checks that a store without
// transactions refuses every attachment.
func testTransact(t *testing.T, h Harness) {
	if h.Attach == nil {
		return // Abilities reports a missing Attach.
	}
	for name, run := range map[string]func(t *testing.T, h Harness){
		"own":     testTransactOwn,
		"adopt":   testTransactAdopt,
		"create":  testTransactCreate,
		"alone":   testCommit,
		"invalid": testTransactInvalid,
	} {
		t.Run(name, func(t *testing.T) { run(t, h) })
	}
}

// attached is the attachment of a case.
type attached struct {
	attachment any
	committed  func() int
}

// attaches lets a call freeze an attachment, and refusedOne one with a condition that
// does not hold. Writes take it with the edit attach.
func attaches(s *subject)   { s.freeze(false) }
func refusedOne(s *subject) { s.freeze(true) }

func (s *subject) freeze(refused bool) {
	s.Helper()
	a, committed := s.Attach(s.T, refused)
	if empty, err := a.Freeze(); empty || err != nil {
		s.Fatalf("Freeze: empty %v, error %v; want something to commit", empty, err)
	}
	s.attached = attached{a, committed}
}

// with adds an attachment to a write.
func with(a any) edit { return func(_ *subject, w *write) { w.change.With = a } }

func attach(s *subject, w *write) { w.change.With = s.attachment }

// times expects that the attachment was committed n times.
func times(n int) act {
	return func(s *subject) {
		s.Helper()
		if got := s.committed(); got != n {
			s.Errorf("the attachment was committed %d times, want %d", got, n)
		}
	}
}

var (
	once  = times(1)
	never = times(0)
)

// rejects expects that the attachment is rejected and nothing is written.
func (s *subject) rejects(w *write) { s.rejected(w.call(s.Context(), s.Store)) }

func (s *subject) rejected(_ driver.Record, ok bool, err error) {
	s.Helper()
	var rejected *driver.Rejected
	if ok || !errors.As(err, &rejected) || rejected.Err == nil {
		s.Errorf("ok %v, error %v; want a *Rejected with its reason", ok, err)
	}
	s.do(never, (*subject).check)
}

// rejects expects that c with the attachment is rejected.
func rejects(c driver.Change) act {
	return func(s *subject) { s.rejects(s.alteration(c, attach)) }
}

// winsAgain makes a write with the attachment and repeats it, as a client does after a
// lost answer. It expects success, or the record that the first call left.
func (s *subject) winsAgain(w *write) {
	s.Helper()
	s.send(w, true)
	s.do(once)
	want := s.item
	got, ok, err := w.call(s.Context(), s.Store)
	if err != nil || got.Status != want.Status || got.Owner != want.Owner || !bytes.Equal(got.Data, want.Data) {
		s.Errorf("again: ok %v, error %v, returned %s; want %s", ok, err, show(got), show(want))
	}
	s.do(once, (*subject).check)
}

func testTransactOwn(t *testing.T, h Harness) {
	for _, status := range []driver.Status{driver.Completed, driver.Failed} {
		c := finish(status, `{"id":"p-1"}`)
		h.test(t, string(status), claimed, wins(step("charge", "1")), attaches, wins(c, attach), once)
		// The owner may finish without the attachment.
		h.test(t, string(status)+" refused", claimed, refusedOne, rejects(c), wins(c))
	}
	c, second := finish(driver.Completed, "1"), finish(driver.Completed, "2")
	h.test(t, "again", claimed, attaches, func(s *subject) { s.winsAgain(s.alteration(c, attach)) })
	h.test(t, "with other arguments is another call", claimed, attaches,
		loses(c, as("mallory"), attach), never, wins(c, attach), once)
	h.test(t, "two results are two calls", claimed, attaches, wins(c, attach), loses(second, attach), once)
	// The condition on the record takes precedence.
	h.test(t, "lost", claimed, attaches, loses(c, as("mallory"), attach), never,
		refusedOne, loses(c, as("mallory"), attach), never)
	h.test(t, "lost against a result", claimed, wins(c), refusedOne, loses(second, attach), never)
	h.test(t, "lost against its own release", claimed, wins(keep), attaches, loses(c, by("alice"), attach), never)
	h.test(t, "lost against its own refund", claimed, wins(refund), attaches, loses(c, by("alice"), attach), never)
	h.test(t, "lost against no record", attaches, loses(c, by("alice"), attach), never)
	h.test(t, "oversize", claimed, attaches, wins(finish(driver.Completed, oversize()), attach), once)
}

func testTransactAdopt(t *testing.T, h Harness) {
	released := plants(after(withStep(claim("bob"), "charge", "1"), keep))
	h.test(t, "finishes", released, attaches, wins(adopt("alice"), attach), once)
	h.test(t, "refused", released, refusedOne, rejects(adopt("alice")))
	h.test(t, "lost", released, reads, wins(takeOver("carol")),
		attaches, loses(adopt("alice"), asRead, attach), never)
}

func testTransactCreate(t *testing.T, h Harness) {
	writes := func(cutoff time.Time) act { return then(attaches, creates(result(), cutoff, attach), once) }
	h.test(t, "without a record", writes(now))
	h.test(t, "without a record, with a zero cutoff", writes(time.Time{}))
	failed := but(result(), func(r *driver.Record) { r.Status = driver.Failed })
	h.test(t, "failed", attaches, creates(failed, now, attach), once)
	bobs := func(r *driver.Record) { r.Owner = "bob" }
	old := planted(expired, bobs)
	h.test(t, "over an expired record", old, writes(now))
	h.test(t, "not over an expired record with a zero cutoff", old,
		attaches, meets(result(), time.Time{}, attach), never)
	for met, change := range map[string]func(r *driver.Record){
		"a live claim":   func(*driver.Record) {},
		"a lapsed claim": func(r *driver.Record) { r.Lease = now.Add(-time.Hour) },
		"a result":       func(r *driver.Record) { *r = after(*r, finish(driver.Completed, "41")) },
	} {
		start := planted(bobs, change)
		h.test(t, "meets "+met, start, attaches, meets(result(), now, attach), never)
		h.test(t, "meets "+met+" and would be refused", start, refusedOne, meets(result(), now, attach), never)
	}
	h.test(t, "refused", refusedOne, func(s *subject) { s.rejects(s.creation(result(), now, attach)) })
	h.test(t, "again", attaches, func(s *subject) { s.winsAgain(s.creation(result(), now, attach)) })
}

// testCommit commits attachments without a record.
func testCommit(t *testing.T, h Harness) {
	commit := func(s *subject) error {
		return s.Store.(driver.Transactional).Commit(s.Context(), s.id, s.attachment)
	}
	commits := func(s *subject) {
		if err := commit(s); err != nil {
			s.Fatal(err)
		}
		s.do(once, (*subject).check)
	}
	h.test(t, "commits", attaches, commits, commits)
	h.test(t, "refused", refusedOne, func(s *subject) { s.rejected(driver.Record{}, false, commit(s)) })
	h.test(t, "leaves the record alone", creates(claim("bob"), now), attaches, commits)
	h.test(t, "unknown with", func(s *subject) {
		for _, a := range []any{nil, unknown{}} {
			s.attachment = a
			if err := commit(s); err == nil {
				s.Errorf("Commit of a %T: no error", a)
			}
		}
	})
}

// testTransactInvalid attaches to writes that do not finish a record.
func testTransactInvalid(t *testing.T, h Harness) {
	for _, w := range append(ownWrites(), namedChange{"take over", takeOver("bob")}) {
		if w.change.Status == driver.Absent {
			h.test(t, w.name, claimed, attaches, refuses(w.change, attach), never)
		}
	}
	h.test(t, "claim", attaches, refusesToCreate(claim("alice"), now, attach), never)
}
