package storetest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// subject is one record of a store under test.
type subject struct {
	*testing.T
	Harness
	id string
}

// on returns a subject whose record is named after the test, so that tests
// share a store but no record.
func on(t *testing.T, h Harness) subject {
	return subject{T: t, Harness: h, id: t.Name()}
}

// test runs a case on a record of its own.
func (h Harness) test(t *testing.T, name string, run func(s subject)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { run(on(t, h)) })
}

// testClaimed runs a case on a record that alice has claimed.
func (h Harness) testClaimed(t *testing.T, name string, run func(s subject, r driver.Record)) {
	t.Helper()
	h.test(t, name, func(s subject) { run(s, s.claimed("alice")) })
}

func (s subject) get() driver.Record {
	s.Helper()
	r, err := s.Store.Get(s.Context(), s.id)
	if err != nil {
		s.Fatalf("Get: %v", err)
	}
	return r
}

func (s subject) stored(want driver.Record) {
	s.Helper()
	s.same("Get", want, s.get())
}

func (s subject) same(what string, want, got driver.Record) {
	s.Helper()
	if d := diff(want, got); d != "" {
		s.Fatalf("%s: %s", what, d)
	}
}

func (s subject) plant(r driver.Record) driver.Record {
	s.Helper()
	r.ID = s.id
	s.Plant(s.T, r)
	s.stored(r)
	return r
}

// creates expects that r is written, with an empty set of steps or none.
func (s subject) creates(r driver.Record, cutoff time.Time) {
	s.Helper()
	s.same("result of Create", r, s.written(s.Store.Create(s.Context(), r, cutoff, nil)))
	s.stored(r)
}

// written expects that a write was applied, and returns the result.
func (s subject) written(r driver.Record, ok bool, err error) driver.Record {
	s.Helper()
	if err != nil || !ok {
		s.Fatalf("ok %v, error %v; want it applied; met %s", ok, err, show(r))
	}
	return r
}

// meets expects that r is not written and that Create returns the stored record.
func (s subject) meets(r driver.Record, cutoff time.Time) {
	s.Helper()
	before := s.get()
	got, ok, err := s.Store.Create(s.Context(), r, cutoff, nil)
	if err != nil || ok {
		s.Fatalf("Create: ok %v, error %v; want a lost race against %s", ok, err, show(before))
	}
	s.same("record met by Create", before, got)
	s.stored(before)
}

// wins expects that c is applied and that the stored record becomes want.
func (s subject) wins(f driver.Fence, c driver.Change, want driver.Record) {
	s.Helper()
	f.ID = s.id
	got, ok, err := s.Store.Change(s.Context(), f, c)
	if err != nil || !ok {
		s.Fatalf("%s: ok %v, error %v; want it applied; met %s", showChange(f, c), ok, err, show(got))
	}
	if d := diffAnswer(c, want, got); d != "" {
		s.Fatalf("result of %s: %s", showChange(f, c), d)
	}
	s.stored(want)
}

// loses expects that c is not applied and that Change returns the stored record.
func (s subject) loses(f driver.Fence, c driver.Change) {
	s.Helper()
	f.ID = s.id
	before := s.get()
	got, ok, err := s.Store.Change(s.Context(), f, c)
	if err != nil || ok {
		s.Fatalf("%s: ok %v, error %v; want a lost race against %s", showChange(f, c), ok, err, show(before))
	}
	s.same("record met by Change", before, got)
	s.stored(before)
}

// refuses expects an error and that nothing changes.
func (s subject) refuses(f driver.Fence, c driver.Change) {
	s.Helper()
	f.ID = s.id
	before := s.get()
	if got, ok, err := s.Store.Change(s.Context(), f, c); err == nil || ok {
		s.Errorf("%s: ok %v, error %v, returned %s; want an error", showChange(f, c), ok, err, show(got))
	}
	s.stored(before)
}

// diffAnswer compares the result of Change: the whole record after a takeover,
// otherwise the fields that the change has set.
func diffAnswer(c driver.Change, want, got driver.Record) string {
	if c.Owner != "" && c.Status == driver.Absent {
		return diff(want, got)
	}
	part := got
	if c.Release != 0 {
		part.Status, part.Owner, part.Lease = want.Status, want.Owner, want.Lease
		return diff(part, got)
	}
	if c.Status != driver.Absent {
		part.Status, part.Data, part.Payload, part.Unavailable = want.Status, want.Data, want.Payload, want.Unavailable
	}
	if c.Owner != "" {
		part.Owner = want.Owner
	}
	if !c.Lease.IsZero() {
		part.Lease = want.Lease
	}
	if !c.Expires.IsZero() {
		part.Expires = want.Expires
	}
	for name := range c.Steps {
		if data, ok := got.Steps[name]; !ok || !bytes.Equal(data, want.Steps[name]) {
			return fmt.Sprintf("step %q is %q, want %q", name, data, want.Steps[name])
		}
	}
	return diff(part, got)
}

// diff describes how two records differ. It is empty for equal records.
func diff(want, got driver.Record) string {
	if equal(want, got) {
		return ""
	}
	return fmt.Sprintf("got\n\t%s\nwant\n\t%s", show(got), show(want))
}

// equal reports whether two records are the same. It treats absent steps and an
// empty set of them as equal: a store need not distinguish them in a result.
func equal(want, got driver.Record) bool {
	if want.Status == driver.Absent && got.Status == driver.Absent {
		return true
	}
	return want.ID == got.ID && want.Status == got.Status && want.Owner == got.Owner &&
		want.Attempt == got.Attempt && want.Refunds == got.Refunds &&
		want.Lease.IsZero() == got.Lease.IsZero() && want.Lease.Equal(got.Lease) &&
		want.Expires.IsZero() == got.Expires.IsZero() && want.Expires.Equal(got.Expires) &&
		want.Fingerprint == got.Fingerprint && want.Payload == got.Payload && want.Unavailable == got.Unavailable &&
		(want.Data == nil) == (got.Data == nil) && bytes.Equal(want.Data, got.Data) &&
		maps.EqualFunc(want.Steps, got.Steps, bytes.Equal)
}

func show(r driver.Record) string {
	if r.Status == driver.Absent {
		return "no record"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%.80q %s owner %q attempt %d refunds %d lease %s expires %s fingerprint %q payload %q unavailable %q",
		r.ID, r.Status, r.Owner, r.Attempt, r.Refunds, stamp(r.Lease), stamp(r.Expires), r.Fingerprint, r.Payload, r.Unavailable)
	if r.Data == nil {
		b.WriteString(" no data")
	} else {
		fmt.Fprintf(&b, " data (%d bytes) %.60q", len(r.Data), r.Data)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Steps)) {
		fmt.Fprintf(&b, " step %q = %.60q", name, r.Steps[name])
	}
	return b.String()
}

func showChange(f driver.Fence, c driver.Change) string {
	// A change has the fields of a record, and data too large to print whole.
	set := driver.Record{ID: f.ID, Status: "as it is", Owner: c.Owner, Lease: c.Lease, Expires: c.Expires,
		Fingerprint: c.Fingerprint, Data: c.Data, Payload: c.Payload, Unavailable: c.Unavailable, Steps: c.Steps}
	if c.Status != driver.Absent {
		set.Status = c.Status
	}
	return fmt.Sprintf("Change under owner %q attempt %d lease %s to\n\t%s release %d\n",
		f.Owner, f.Attempt, stamp(f.Lease), show(set), c.Release)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "absent"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
