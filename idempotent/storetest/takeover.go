package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testTakeOver(t *testing.T, h Harness) {
	steps := map[string][]byte{"charge": []byte("1"), "mail": []byte("2")}
	t.Run("leaves steps and fingerprint", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("alice")
		r.Attempt, r.Refunds, r.Steps = 3, 2, steps
		s.wins(takeOver(s.plant(r), "bob"))
	})
	t.Run("a field that was read may be absent", func(t *testing.T) {
		for _, c := range []struct {
			name string
			cut  func(r *driver.Record)
		}{
			{"nothing", func(*driver.Record) {}},
			{"owner", func(r *driver.Record) { r.Owner = "" }},
			{"attempt", func(r *driver.Record) { r.Attempt = 0 }},
			{"lease", func(r *driver.Record) { r.Lease = time.Time{} }},
			{"expiration", func(r *driver.Record) { r.Expires = time.Time{} }},
			{"fingerprint", func(r *driver.Record) { r.Fingerprint = "" }},
			{"steps", func(r *driver.Record) { r.Steps = nil }},
			{"all", func(r *driver.Record) {
				*r = driver.Record{ID: r.ID, Status: r.Status}
			}},
		} {
			t.Run(c.name, func(t *testing.T) {
				s := on(t, h)
				r := s.claim("alice")
				r.Steps = steps
				c.cut(&r)
				f, change, after := takeOver(s.plant(r), "bob")
				s.wins(f, change, after)
				// A document path to a step requires that the map exists.
				s.wins(fenceOf(after), step("ship", "3"), withStep(after, "ship", "3"))
			})
		}
	})
	t.Run("a released record", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		s.wins(fenceOf(r), release(driver.ReleaseRefund), afterRelease(r, driver.ReleaseRefund))
		s.wins(takeOver(s.get(), "bob"))
	})
	t.Run("a long owner", func(t *testing.T) {
		// That of a durable execution contains its ARN, of up to 1,024 characters.
		long := "execution-:arn:" + strings.Repeat("x/:$-", 220)
		s := on(t, h)
		f, c, after := takeOver(s.claimed(long), long+"2")
		s.wins(f, c, after)
		s.wins(fenceOf(after), step("ship", "3"), withStep(after, "ship", "3"))
	})
	t.Run("to an earlier lease", func(t *testing.T) {
		// The next owner may have a slow clock and a short lease.
		s := on(t, h)
		r := s.claimed("alice")
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
	for _, c := range []struct {
		name string
		read func(f *driver.Fence)
	}{
		{"owner", func(f *driver.Fence) { f.Owner = "carol" }},
		{"owner absent", func(f *driver.Fence) { f.Owner = "" }},
		{"attempt", func(f *driver.Fence) { f.Attempt++ }},
		{"attempt before", func(f *driver.Fence) { f.Attempt-- }},
		{"attempt absent", func(f *driver.Fence) { f.Attempt = 0 }},
		{"lease a millisecond earlier", func(f *driver.Fence) { f.Lease = f.Lease.Add(-time.Millisecond) }},
		{"lease a millisecond later", func(f *driver.Fence) { f.Lease = f.Lease.Add(time.Millisecond) }},
		{"lease ended", func(f *driver.Fence) { f.Lease = driver.LeaseEnded }},
		{"lease absent", func(f *driver.Fence) { f.Lease = time.Time{} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := on(t, h)
			r := s.claim("alice")
			r.Attempt = 4
			f, change, _ := takeOver(s.plant(r), "bob")
			c.read(&f)
			s.loses(f, change)
		})
	}
	for _, c := range []struct {
		name string
		cut  func(r *driver.Record)
	}{
		{"owner gone", func(r *driver.Record) { r.Owner = "" }},
		{"attempt gone", func(r *driver.Record) { r.Attempt = 0 }},
		{"lease gone", func(r *driver.Record) { r.Lease = time.Time{} }},
		{"lease ended since", func(r *driver.Record) { r.Lease = driver.LeaseEnded }},
		{"completed", func(r *driver.Record) { r.Status = driver.Completed }},
		{"failed", func(r *driver.Record) { r.Status = driver.Failed }},
		{"removed", func(r *driver.Record) { r.Status = driver.Absent }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := on(t, h)
			r := s.plant(s.claim("alice"))
			f, change, _ := takeOver(r, "bob")
			c.cut(&r)
			s.plant(r)
			s.loses(f, change)
		})
	}
	t.Run("a heartbeat came first", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		f, change, _ := takeOver(r, "bob")
		r.Lease, r.Expires = extend().Lease, extend().Expires
		s.wins(fenceOf(r), extend(), r)
		s.loses(f, change)
	})
}
