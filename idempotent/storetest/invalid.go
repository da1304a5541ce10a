package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// testInvalid makes writes that the protocol never makes. They are bugs of the
// caller, so the result must be an error and not a failed condition.
func testInvalid(t *testing.T, h Harness) {
	at, till := now.Add(2*lease), now.Add(retention)
	steps := map[string][]byte{"charge": []byte("1")}
	data := []byte("1")
	changes := []namedChange{
		{"nothing", driver.Change{}},
		{"expires alone", driver.Change{Expires: till}},
		{"fingerprint alone", driver.Change{Fingerprint: "f"}},
		{"empty steps alone", driver.Change{Steps: map[string][]byte{}}},
		{"data without status", driver.Change{Data: data}},
		{"empty data without status", driver.Change{Data: []byte{}}},
		{"reason without status", driver.Change{Unavailable: "too large"}},
		{"reference without status", driver.Change{Payload: "p"}},
		{"extend with data", driver.Change{Lease: at, Expires: till, Data: data}},
		{"extend with steps", driver.Change{Lease: at, Expires: till, Steps: steps}},
		{"take over with steps", driver.Change{Owner: "bob", Lease: at, Expires: till, Steps: steps}},
		{"take over with data", driver.Change{Owner: "bob", Lease: at, Expires: till, Data: data}},
		{"take over without lease", driver.Change{Owner: "bob", Expires: till}},
		{"step without name", driver.Change{Steps: map[string][]byte{"": data}}},
		{"status in progress", driver.Change{Status: driver.InProgress, Expires: till}},
		{"status unknown", driver.Change{Status: "DONE", Data: data, Expires: till}},
		{"finish with lease", driver.Change{Status: driver.Completed, Data: data, Lease: at, Expires: till}},
		{"finish with steps", driver.Change{Status: driver.Completed, Data: data, Steps: steps, Expires: till}},
		{"finish with data and reason", driver.Change{Status: driver.Completed, Data: data, Unavailable: "u"}},
		{"finish with data and reference", driver.Change{Status: driver.Completed, Data: data, Payload: "p"}},
		{"finish with empty data and reference", driver.Change{Status: driver.Completed, Data: []byte{}, Payload: "p"}},
		{"finish with reference and reason", driver.Change{Status: driver.Completed, Payload: "p", Unavailable: "u"}},
		{"release unknown", driver.Change{Release: driver.ReleaseRefund + 1}},
		{"release with expires", driver.Change{Release: driver.ReleaseKeep, Expires: till}},
		{"release with fingerprint", driver.Change{Release: driver.ReleaseKeep, Fingerprint: "f"}},
		{"release with owner", driver.Change{Release: driver.ReleaseKeep, Owner: "bob"}},
		{"release with lease", driver.Change{Release: driver.ReleaseDelete, Lease: at}},
		{"release with steps", driver.Change{Release: driver.ReleaseKeep, Steps: steps}},
		{"release with status", driver.Change{Release: driver.ReleaseDelete, Status: driver.Completed}},
		{"release with data", driver.Change{Release: driver.ReleaseRefund, Data: data}},
		{"release with reference", driver.Change{Release: driver.ReleaseKeep, Payload: "p"}},
		{"release with reason", driver.Change{Release: driver.ReleaseRefund, Unavailable: "u"}},
	}
	for _, w := range ownWrites() {
		w.change.With = unknown{}
		changes = append(changes, namedChange{"unknown with/" + w.name, w.change})
	}
	for _, c := range changes {
		h.testClaimed(t, c.name, func(s subject, r driver.Record) {
			s.refuses(fenceOf(r), c.change)
		})
	}
	t.Run("no id", func(t *testing.T) {
		for _, w := range ownWrites() {
			if _, ok, err := h.Store.Change(t.Context(), driver.Fence{Owner: "alice"}, w.change); err == nil || ok {
				t.Errorf("%s: ok %v, error %v; want an error", w.name, ok, err)
			}
		}
	})
	h.testClaimed(t, "is not unavailable", func(s subject, r driver.Record) {
		// FailOpen would run the handler unprotected in every call.
		for _, c := range changes {
			_, _, err := s.Store.Change(s.Context(), fenceOf(r), c.change)
			if errors.Is(err, driver.ErrUnavailable) {
				s.Errorf("%s: %v wraps ErrUnavailable", c.name, err)
			}
		}
	})
	t.Run("create", func(t *testing.T) { testInvalidCreate(t, h) })
}

func testInvalidCreate(t *testing.T, h Harness) {
	for name, spot := range map[string]func(r *driver.Record){
		"no id":                func(r *driver.Record) { r.ID = "" },
		"no status":            func(r *driver.Record) { r.Status = driver.Absent },
		"unknown status":       func(r *driver.Record) { r.Status = "DONE" },
		"finished steps":       func(r *driver.Record) { r.Steps = map[string][]byte{"charge": nil} },
		"data and reason":      func(r *driver.Record) { r.Status, r.Data, r.Unavailable = driver.Completed, []byte("1"), "too large" },
		"data and reference":   func(r *driver.Record) { r.Status, r.Data, r.Payload = driver.Completed, []byte{}, "p" },
		"reference and reason": func(r *driver.Record) { r.Status, r.Payload, r.Unavailable = driver.Completed, "p", "too large" },
	} {
		h.test(t, name, func(s subject) {
			r := s.claim("alice")
			spot(&r)
			for _, cutoff := range []time.Time{now, {}} {
				if got, ok, err := s.Store.Create(s.Context(), r, cutoff, nil); err == nil || ok {
					s.Errorf("Create: ok %v, no error, returned %s; want an error", ok, show(got))
				}
			}
			s.stored(driver.Record{})
		})
	}
}
