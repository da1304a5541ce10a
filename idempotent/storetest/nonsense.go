package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
)

// testNonsense makes writes that no reading of the protocol produces. They
// are bugs of the caller: errors, and never lost races, which the core would
// go on to decide about.
func testNonsense(t *testing.T, h Harness) {
	at, till := now.Add(2*lease), now.Add(retention)
	steps := map[string][]byte{"charge": []byte("1")}
	data := []byte("1")
	changes := []struct {
		name   string
		change idempotent.Change
	}{
		{"nothing", idempotent.Change{}},
		{"expires alone", idempotent.Change{Expires: till}},
		{"fingerprint alone", idempotent.Change{Fingerprint: "f"}},
		{"empty steps alone", idempotent.Change{Steps: map[string][]byte{}}},
		{"data without status", idempotent.Change{Data: data}},
		{"empty data without status", idempotent.Change{Data: []byte{}}},
		{"marker without status", idempotent.Change{Unavailable: "too large"}},
		{"reference without status", idempotent.Change{Payload: "p"}},
		{"extend with data", idempotent.Change{Lease: at, Expires: till, Data: data}},
		{"extend with steps", idempotent.Change{Lease: at, Expires: till, Steps: steps}},
		{"take over with steps", idempotent.Change{Owner: "bob", Lease: at, Expires: till, Steps: steps}},
		{"take over with data", idempotent.Change{Owner: "bob", Lease: at, Expires: till, Data: data}},
		{"take over without lease", idempotent.Change{Owner: "bob", Expires: till}},
		{"step without name", idempotent.Change{Steps: map[string][]byte{"": data}}},
		{"status in progress", idempotent.Change{Status: idempotent.InProgress, Expires: till}},
		{"status unknown", idempotent.Change{Status: "DONE", Data: data, Expires: till}},
		{"finish with lease", idempotent.Change{Status: idempotent.Completed, Data: data, Lease: at, Expires: till}},
		{"finish with steps", idempotent.Change{Status: idempotent.Completed, Data: data, Steps: steps, Expires: till}},
		{"finish with data and marker", idempotent.Change{Status: idempotent.Completed, Data: data, Unavailable: "u"}},
		{"finish with data and reference", idempotent.Change{Status: idempotent.Completed, Data: data, Payload: "p"}},
		{"finish with empty data and reference", idempotent.Change{Status: idempotent.Completed, Data: []byte{}, Payload: "p"}},
		{"finish with reference and marker", idempotent.Change{Status: idempotent.Completed, Payload: "p", Unavailable: "u"}},
		{"release unknown", idempotent.Change{Release: idempotent.ReleaseRefund + 1}},
		{"release with expires", idempotent.Change{Release: idempotent.ReleaseKeep, Expires: till}},
		{"release with fingerprint", idempotent.Change{Release: idempotent.ReleaseKeep, Fingerprint: "f"}},
		{"release with owner", idempotent.Change{Release: idempotent.ReleaseKeep, Owner: "bob"}},
		{"release with lease", idempotent.Change{Release: idempotent.ReleaseDelete, Lease: at}},
		{"release with steps", idempotent.Change{Release: idempotent.ReleaseKeep, Steps: steps}},
		{"release with status", idempotent.Change{Release: idempotent.ReleaseDelete, Status: idempotent.Completed}},
		{"release with data", idempotent.Change{Release: idempotent.ReleaseRefund, Data: data}},
		{"release with reference", idempotent.Change{Release: idempotent.ReleaseKeep, Payload: "p"}},
		{"release with marker", idempotent.Change{Release: idempotent.ReleaseRefund, Unavailable: "u"}},
	}
	for _, w := range ownWrites() {
		w.change.With = unknown{}
		changes = append(changes, struct {
			name   string
			change idempotent.Change
		}{"unknown with/" + w.name, w.change})
	}
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			s := on(t, h)
			r := s.claimed("alice")
			s.refuses(fenceOf(r), c.change)
		})
	}
	t.Run("no id", func(t *testing.T) {
		for _, w := range ownWrites() {
			if _, ok, err := h.Store.Change(t.Context(), idempotent.Fence{Owner: "alice"}, w.change); err == nil || ok {
				t.Errorf("%s: ok %v, error %v; want an error", w.name, ok, err)
			}
		}
	})
	t.Run("is not unavailable", func(t *testing.T) {
		// Fail-open would run the handler unprotected, at every call.
		s := on(t, h)
		r := s.claimed("alice")
		for _, c := range changes {
			_, _, err := h.Store.Change(t.Context(), fenceOf(r), c.change)
			if errors.Is(err, idempotent.ErrUnavailable) {
				t.Errorf("%s: %v wraps ErrUnavailable", c.name, err)
			}
		}
	})
	t.Run("create", func(t *testing.T) { testNonsenseCreate(t, h) })
}

func testNonsenseCreate(t *testing.T, h Harness) {
	for _, c := range []struct {
		name string
		spot func(r *idempotent.Record)
	}{
		{"no id", func(r *idempotent.Record) { r.ID = "" }},
		{"no status", func(r *idempotent.Record) { r.Status = idempotent.Absent }},
		{"unknown status", func(r *idempotent.Record) { r.Status = "DONE" }},
		{"finished steps", func(r *idempotent.Record) { r.Steps = map[string][]byte{"charge": nil} }},
		{"data and marker", func(r *idempotent.Record) {
			r.Status, r.Data, r.Unavailable = idempotent.Completed, []byte("1"), "too large"
		}},
		{"data and reference", func(r *idempotent.Record) {
			r.Status, r.Data, r.Payload = idempotent.Completed, []byte{}, "p"
		}},
		{"reference and marker", func(r *idempotent.Record) {
			r.Status, r.Payload, r.Unavailable = idempotent.Completed, "p", "too large"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := on(t, h)
			r := s.claim("alice")
			c.spot(&r)
			for _, over := range []time.Time{now, {}} {
				if got, ok, err := h.Store.Create(t.Context(), r, over, nil); err == nil || ok {
					t.Errorf("Create: ok %v, no error, answer %s; want an error", ok, show(got))
				}
			}
			s.stored(idempotent.Record{})
		})
	}
}
