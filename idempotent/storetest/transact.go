package storetest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
)

// testAbilities checks that a decorator implements the optional interfaces of
// its store. Otherwise it would disable them silently.
func testAbilities(t *testing.T, h Harness) {
	_, able := h.Store.(driver.Transactional)
	if _, inner := h.Decorates.(driver.Transactional); inner && !able {
		t.Errorf("%T is Transactional, and %T, which decorates it, is not", h.Decorates, h.Store)
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

// attached is an attachment under test.
type attached struct {
	subject
	with      any
	committed func() int
}

// attach returns a frozen attachment. If refused, it has a condition that does
// not hold.
func (s subject) attach(refused bool) attached {
	s.Helper()
	with, committed := s.Attach(s.T, refused)
	if empty, err := with.Freeze(); empty || err != nil {
		s.Fatalf("Freeze: empty %v, error %v; want something to commit", empty, err)
	}
	return attached{s, with, committed}
}

func (a attached) times(want int) {
	a.Helper()
	if got := a.committed(); got != want {
		a.Errorf("the attachment was committed %d times, want %d", got, want)
	}
}

// loses expects that c loses with the attachment, which commits nothing.
func (a attached) loses(f driver.Fence, c driver.Change) {
	a.Helper()
	a.subject.loses(f, a.to(c))
	a.times(0)
}

// rejected expects that the attachment was rejected and nothing was written.
func (a attached) rejected(before driver.Record, ok bool, err error) {
	a.Helper()
	var rejected *driver.Rejected
	if ok || !errors.As(err, &rejected) || rejected.Err == nil {
		a.Errorf("ok %v, error %v; want a *Rejected with its reason", ok, err)
	}
	a.times(0)
	a.stored(before)
}

// to returns c with the attachment.
func (a attached) to(c driver.Change) driver.Change {
	c.With = a.with
	return c
}

// again repeats a call that succeeded, as a client does after a lost answer. It
// expects success, or the record that the first call left.
func (a attached) again(want driver.Record, call func() (driver.Record, bool, error)) {
	a.Helper()
	got, ok, err := call()
	if err != nil || got.Status != want.Status || got.Owner != want.Owner || !bytes.Equal(got.Data, want.Data) {
		a.Errorf("again: ok %v, error %v, returned %s; want %s", ok, err, show(got), show(want))
	}
	a.times(1)
	a.stored(want)
}
