package storetest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
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
	if empty, err := with.Freeze(); empty || err != nil {
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
func (a attached) rejected(before driver.Record, ok bool, err error) {
	a.Helper()
	var rejected *driver.Rejected
	if ok || !errors.As(err, &rejected) || rejected.Err == nil {
		a.Errorf("ok %v, error %v; want a *Rejected with its reason", ok, err)
	}
	a.times(0)
	a.stored(before)
}

// to is c together with the attachment.
func (a attached) to(c driver.Change) driver.Change {
	c.With = a.with
	return c
}

// again makes a call that has succeeded once more, as one does whose answer was
// lost. It says that it is done, or meets what it has left.
func (a attached) again(want driver.Record, call func() (driver.Record, bool, error)) {
	a.Helper()
	got, ok, err := call()
	if err != nil || got.Status != want.Status || got.Owner != want.Owner || !bytes.Equal(got.Data, want.Data) {
		a.Errorf("again: ok %v, error %v, answer %s; want %s", ok, err, show(got), show(want))
	}
	a.times(1)
	a.stored(want)
}
