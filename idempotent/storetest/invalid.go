package storetest

import (
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
		{"extend with a beginning", driver.Change{Lease: at, Expires: till, Began: now}},
		{"finish with a beginning", driver.Change{Status: driver.Completed, Data: data, Began: now}},
		{"release with a beginning", driver.Change{Release: driver.ReleaseKeep, Began: now}},
		{"extend with an ending", driver.Change{Lease: at, Expires: till, Ended: ending}},
		{"take over with an ending", driver.Change{Owner: "bob", Lease: at, Expires: till, Ended: ending}},
		{"step with an ending", driver.Change{Steps: steps, Ended: ending}},
		{"release with an ending", driver.Change{Release: driver.ReleaseKeep, Ended: ending}},
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
		h.test(t, c.name, claimed, refuses(c.change))
	}
	h.test(t, "no id", claimed, func(s *subject) {
		for _, w := range ownWrites() {
			s.refuses(alteration(driver.Fence{Owner: "alice"}, w.change))
		}
	})
	t.Run("create", func(t *testing.T) { testInvalidCreate(t, h) })
}

func testInvalidCreate(t *testing.T, h Harness) {
	for name, spot := range map[string]func(r *driver.Record){
		"no id":                func(r *driver.Record) { r.ID = "" },
		"no status":            func(r *driver.Record) { r.Status = driver.Absent },
		"unknown status":       func(r *driver.Record) { r.Status = "DONE" },
		"negative attempt":     func(r *driver.Record) { r.Attempt = -1 },
		"negative refunds":     func(r *driver.Record) { r.Refunds = -1 },
		"finished steps":       func(r *driver.Record) { r.Steps = map[string][]byte{"charge": nil} },
		"a finished request":   func(r *driver.Record) { r.Status, r.Request = driver.Completed, []byte("1") },
		"a running ending":     func(r *driver.Record) { r.Ended = ending },
		"data and reason":      func(r *driver.Record) { r.Status, r.Data, r.Unavailable = driver.Completed, []byte("1"), "too large" },
		"data and reference":   func(r *driver.Record) { r.Status, r.Data, r.Payload = driver.Completed, []byte{}, "p" },
		"reference and reason": func(r *driver.Record) { r.Status, r.Payload, r.Unavailable = driver.Completed, "p", "too large" },
	} {
		wrong := func(_ *subject, w *write) { spot(&w.record) }
		h.test(t, name, refusesToCreate(claim("alice"), now, wrong),
			refusesToCreate(claim("alice"), time.Time{}, wrong))
	}
}
