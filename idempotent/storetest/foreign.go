package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// foreign returns a record as Powertools for AWS Lambda writes it: without
// owner, attempt and steps.
func (s subject) foreign() driver.Record {
	return driver.Record{
		ID:      s.id,
		Status:  driver.InProgress,
		Lease:   now.Add(lease),
		Expires: now.Add(time.Hour),
	}
}

func testForeign(t *testing.T, h Harness) {
	t.Run("in progress is met as it is", func(t *testing.T) {
		s := on(t, h)
		s.plant(s.foreign())
		s.meets(s.claim("bob"), now)
	})
	t.Run("without a lease it lives until its expiration", func(t *testing.T) {
		s := on(t, h)
		r := s.foreign()
		r.Lease = time.Time{}
		s.plant(r)
		s.meets(s.claim("bob"), r.Expires)
		s.creates(s.claim("bob"), r.Expires.Add(time.Second))
	})
	t.Run("with a lease past its expiration it lives until that", func(t *testing.T) {
		s := on(t, h)
		r := s.foreign()
		r.Lease = r.Expires.Add(time.Hour)
		s.plant(r)
		s.meets(s.claim("bob"), r.Lease)
		s.creates(s.claim("bob"), r.Lease.Add(time.Millisecond))
	})
	t.Run("completed is met with its data", func(t *testing.T) {
		s := on(t, h)
		r := s.foreign()
		r.Status, r.Data, r.Fingerprint = driver.Completed, []byte(`{"message": "hello"}`), "d41d8cd98f00b204e9800998ecf8427e"
		s.plant(r)
		s.meets(s.claim("bob"), now)
	})
	t.Run("completed without data", func(t *testing.T) {
		// A function that returns nothing.
		s := on(t, h)
		r := s.foreign()
		r.Status = driver.Completed
		s.plant(r)
		s.meets(s.claim("bob"), now)
		s.creates(s.claim("bob"), r.Expires.Add(time.Second))
	})
	t.Run("a takeover adds owner, attempt and steps", func(t *testing.T) {
		s := on(t, h)
		f, c, after := takeOver(s.plant(s.foreign()), "bob")
		if after.Attempt != 2 {
			t.Fatalf("attempt %d; a missing one counts as 1", after.Attempt)
		}
		s.wins(f, c, after)
		after = withStep(after, "charge", "1")
		s.wins(fenceOf(after), step("charge", "1"), after)
		done := finish(driver.Completed, "42")
		s.wins(fenceOf(after), done, finished(after, done))
	})
	t.Run("take over and delete", func(t *testing.T) {
		s := on(t, h)
		f, c, after := takeOver(s.plant(s.foreign()), "bob")
		s.wins(f, c, after)
		s.wins(fenceOf(after), release(driver.ReleaseDelete), driver.Record{})
	})
	t.Run("is not changed by an owner's writes", func(t *testing.T) {
		for _, w := range ownWrites() {
			t.Run(w.name, func(t *testing.T) {
				s := on(t, h)
				r := s.plant(s.foreign())
				s.loses(driver.Fence{Owner: "alice", Attempt: 1, Lease: r.Lease}, w.change)
			})
		}
	})
}
