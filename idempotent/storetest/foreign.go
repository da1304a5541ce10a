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
	h.test(t, "in progress is met as it is", func(s subject) {
		s.plant(s.foreign())
		s.meets(s.claim("bob"), now)
	})
	h.test(t, "without a lease it lives until its expiration", func(s subject) {
		r := s.foreign()
		r.Lease = time.Time{}
		s.plant(r)
		s.meets(s.claim("bob"), r.Expires)
		s.creates(s.claim("bob"), r.Expires.Add(time.Second))
	})
	h.test(t, "with a lease past its expiration it lives until that", func(s subject) {
		r := s.foreign()
		r.Lease = r.Expires.Add(time.Hour)
		s.plant(r)
		s.meets(s.claim("bob"), r.Lease)
		s.creates(s.claim("bob"), r.Lease.Add(time.Millisecond))
	})
	h.test(t, "completed is met with its data", func(s subject) {
		r := s.foreign()
		r.Status, r.Data, r.Fingerprint = driver.Completed, []byte(`{"message": "hello"}`), "d41d8cd98f00b204e9800998ecf8427e"
		s.plant(r)
		s.meets(s.claim("bob"), now)
	})
	h.test(t, "completed without data", func(s subject) {
		// A function that returns nothing.
		r := s.foreign()
		r.Status = driver.Completed
		s.plant(r)
		s.meets(s.claim("bob"), now)
		s.creates(s.claim("bob"), r.Expires.Add(time.Second))
	})
	h.test(t, "a takeover adds owner, attempt and steps", func(s subject) {
		f, c, after := takeOver(s.plant(s.foreign()), "bob")
		if after.Attempt != 2 {
			s.Fatalf("attempt %d; a missing one counts as 1", after.Attempt)
		}
		s.wins(f, c, after)
		after = withStep(after, "charge", "1")
		s.wins(fenceOf(after), step("charge", "1"), after)
		done := finish(driver.Completed, "42")
		s.wins(fenceOf(after), done, finished(after, done))
	})
	h.test(t, "take over and delete", func(s subject) {
		after := s.takenOver(s.plant(s.foreign()), "bob")
		s.wins(fenceOf(after), release(driver.ReleaseDelete), driver.Record{})
	})
	t.Run("is not changed by an owner's writes", func(t *testing.T) {
		for _, w := range ownWrites() {
			h.test(t, w.name, func(s subject) {
				r := s.plant(s.foreign())
				s.loses(driver.Fence{Owner: "alice", Attempt: 1, Lease: r.Lease}, w.change)
			})
		}
	})
}
