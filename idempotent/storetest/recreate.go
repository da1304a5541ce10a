package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// testRecreate is Create with the zero over: a finished record, written only
// where none is, by one whose record went away under it.
func testRecreate(t *testing.T, h Harness) {
	result := func(s subject) driver.Record {
		c := finish(driver.Completed, "42")
		return finished(s.claim("alice"), c)
	}
	t.Run("absent", func(t *testing.T) {
		s := on(t, h)
		s.creates(result(s), time.Time{})
	})
	t.Run("deleted", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		s.wins(fenceOf(r), release(driver.ReleaseDelete), driver.Record{})
		s.creates(result(s), time.Time{})
	})
	t.Run("twice", func(t *testing.T) {
		s := on(t, h)
		s.creates(result(s), time.Time{})
		s.meets(result(s), time.Time{})
	})
	t.Run("unavailable", func(t *testing.T) {
		s := on(t, h)
		r := result(s)
		r.Data, r.Unavailable = nil, "json: unsupported type: chan int"
		s.creates(r, time.Time{})
	})
	t.Run("kept elsewhere", func(t *testing.T) {
		s := on(t, h)
		r := result(s)
		r.Data, r.Payload = nil, "reference"
		s.creates(r, time.Time{})
		s.meets(r, time.Time{})
	})
	for _, status := range []driver.Status{driver.InProgress, driver.Completed, driver.Failed} {
		t.Run("meets a record that is over/"+string(status), func(t *testing.T) {
			s := on(t, h)
			r := s.claim("bob")
			r.Status = status
			r.Lease, r.Expires = driver.LeaseEnded, now.AddDate(-20, 0, 0)
			s.plant(r)
			s.meets(result(s), time.Time{})
		})
	}
}
