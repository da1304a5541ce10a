package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testTakeOver(t *testing.T, h Harness) {
	steps := map[string][]byte{"charge": []byte("1"), "mail": []byte("2")}
	h.test(t, "leaves steps and fingerprint", func(s subject) {
		r := s.claim("alice")
		r.Attempt, r.Refunds, r.Steps = 3, 2, steps
		s.takenOver(s.plant(r), "bob")
	})
	t.Run("a field that was read may be absent", func(t *testing.T) {
		for name, cut := range map[string]func(r *driver.Record){
			"nothing":     func(*driver.Record) {},
			"owner":       func(r *driver.Record) { r.Owner = "" },
			"attempt":     func(r *driver.Record) { r.Attempt = 0 },
			"lease":       func(r *driver.Record) { r.Lease = time.Time{} },
			"expiration":  func(r *driver.Record) { r.Expires = time.Time{} },
			"fingerprint": func(r *driver.Record) { r.Fingerprint = "" },
			"steps":       func(r *driver.Record) { r.Steps = nil },
			"all":         func(r *driver.Record) { *r = driver.Record{ID: r.ID, Status: r.Status} },
		} {
			h.test(t, name, func(s subject) {
				r := s.claim("alice")
				r.Steps = steps
				cut(&r)
				after := s.takenOver(s.plant(r), "bob")
				// A document path to a step requires that the map exists.
				s.wins(fenceOf(after), step("ship", "3"), withStep(after, "ship", "3"))
			})
		}
	})
	h.testClaimed(t, "a released record", func(s subject, r driver.Record) {
		s.released(r, driver.ReleaseRefund)
		s.takenOver(s.get(), "bob")
	})
	h.test(t, "a long owner", func(s subject) {
		// That of a durable execution contains its ARN, of up to 1,024 characters.
		long := "execution-:arn:" + strings.Repeat("x/:$-", 220)
		after := s.takenOver(s.claimed(long), long+"2")
		s.wins(fenceOf(after), step("ship", "3"), withStep(after, "ship", "3"))
	})
	h.testClaimed(t, "to an earlier lease", func(s subject, r driver.Record) {
		// The next owner may have a slow clock and a short lease.
		f, c, after := takeOver(r, "bob")
		c.Lease = now.Add(lease - time.Millisecond)
		after.Lease = c.Lease
		s.wins(f, c, after)
	})
	t.Run("differs from what was read", func(t *testing.T) { testTakeOverStale(t, h) })
}

// testTakeOverStale takes over with a fence that differs from the record in one
// field.
func testTakeOverStale(t *testing.T, h Harness) {
	for name, read := range map[string]func(f *driver.Fence){
		"owner":                       func(f *driver.Fence) { f.Owner = "carol" },
		"owner absent":                func(f *driver.Fence) { f.Owner = "" },
		"attempt":                     func(f *driver.Fence) { f.Attempt++ },
		"attempt before":              func(f *driver.Fence) { f.Attempt-- },
		"attempt absent":              func(f *driver.Fence) { f.Attempt = 0 },
		"lease a millisecond earlier": func(f *driver.Fence) { f.Lease = f.Lease.Add(-time.Millisecond) },
		"lease a millisecond later":   func(f *driver.Fence) { f.Lease = f.Lease.Add(time.Millisecond) },
		"lease ended":                 func(f *driver.Fence) { f.Lease = driver.LeaseEnded },
		"lease absent":                func(f *driver.Fence) { f.Lease = time.Time{} },
	} {
		h.test(t, name, func(s subject) {
			f, change, _ := takeOver(s.planted(func(r *driver.Record) { r.Attempt = 4 }), "bob")
			read(&f)
			s.loses(f, change)
		})
	}
	for name, cut := range map[string]func(r *driver.Record){
		"owner gone":        func(r *driver.Record) { r.Owner = "" },
		"attempt gone":      func(r *driver.Record) { r.Attempt = 0 },
		"lease gone":        func(r *driver.Record) { r.Lease = time.Time{} },
		"lease ended since": func(r *driver.Record) { r.Lease = driver.LeaseEnded },
		"completed":         func(r *driver.Record) { r.Status = driver.Completed },
		"failed":            func(r *driver.Record) { r.Status = driver.Failed },
		"removed":           func(r *driver.Record) { r.Status = driver.Absent },
	} {
		h.test(t, name, func(s subject) {
			r := s.plant(s.claim("alice"))
			f, change, _ := takeOver(r, "bob")
			cut(&r)
			s.plant(r)
			s.loses(f, change)
		})
	}
	h.testClaimed(t, "a heartbeat came first", func(s subject, r driver.Record) {
		f, change, _ := takeOver(r, "bob")
		r.Lease, r.Expires = extend().Lease, extend().Expires
		s.wins(fenceOf(r), extend(), r)
		s.loses(f, change)
	})
}
