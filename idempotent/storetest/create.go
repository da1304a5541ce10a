package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testCreate(t *testing.T, h Harness) {
	t.Run("writes where no record is", func(t *testing.T) {
		on(t, h).claimed("alice")
	})
	t.Run("finished at once", func(t *testing.T) {
		for _, status := range []driver.Status{driver.Completed, driver.Failed} {
			t.Run(string(status), func(t *testing.T) {
				s := on(t, h)
				r := s.claim("alice")
				r.Status, r.Data, r.Lease = status, []byte(`{"paid":true}`), time.Time{}
				s.creates(r, now)
			})
		}
	})
	t.Run("few fields", func(t *testing.T) {
		s := on(t, h)
		s.creates(driver.Record{ID: s.id, Status: driver.Completed}, now)
	})
	t.Run("meets another's claim", func(t *testing.T) {
		s := on(t, h)
		s.claimed("alice")
		s.meets(s.claim("bob"), now)
	})
	t.Run("meets everything that is stored", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("alice")
		r.Attempt, r.Refunds = 7, 3
		r.Steps = map[string][]byte{"charge": []byte("1"), "mail": {}}
		s.plant(r)
		s.meets(s.claim("bob"), now)
	})
	t.Run("meets a result", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		c := finish(driver.Completed, "42")
		s.wins(fenceOf(r), c, finished(r, c))
		s.meets(s.claim("bob"), now)
	})
	t.Run("meets its own claim", func(t *testing.T) {
		// The SDK resends a request whose answer was lost.
		s := on(t, h)
		r := s.claimed("alice")
		s.wins(fenceOf(r), step("charge", "1"), withStep(r, "charge", "1"))
		s.meets(r, now)
	})
	t.Run("steps can be added to a new record", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		s.wins(fenceOf(r), step("charge", "1"), withStep(r, "charge", "1"))
	})
	t.Run("records are apart", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		other := s
		other.id = s.id + "2"
		other.claimed("bob")
		s.stored(r)
	})
	t.Run("unknown with", func(t *testing.T) {
		s := on(t, h)
		if _, ok, err := h.Store.Create(t.Context(), s.claim("alice"), now, unknown{}); err == nil || ok {
			t.Errorf("Create: ok %v, error %v; want an error", ok, err)
		}
		s.stored(driver.Record{})
	})
}

// unknown is a With that no store understands.
type unknown struct{}

func withStep(r driver.Record, name, data string) driver.Record {
	steps := map[string][]byte{name: []byte(data)}
	for n, d := range r.Steps {
		if n != name {
			steps[n] = d
		}
	}
	r.Steps = steps
	return r
}
