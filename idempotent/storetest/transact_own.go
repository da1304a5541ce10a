package storetest

import (
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
)

func testTransactOwn(t *testing.T, h Harness) {
	for _, status := range []driver.Status{driver.Completed, driver.Failed} {
		c := finish(status, `{"id":"p-1"}`)
		h.test(t, string(status), func(s subject) {
			r := withStep(s.claimed("alice"), "charge", "1")
			s.wins(fenceOf(r), step("charge", "1"), r)
			a := s.attach(false)
			s.wins(fenceOf(r), a.to(c), finished(r, c))
			a.times(1)
		})
		h.testClaimed(t, string(status)+" refused", func(s subject, r driver.Record) {
			a := s.attach(true)
			_, ok, err := s.Store.Change(s.Context(), fenceOf(r), a.to(c))
			a.rejected(r, ok, err)
			// The owner may finish without the attachment.
			s.wins(fenceOf(r), c, finished(r, c))
		})
	}
	c := finish(driver.Completed, "1")
	h.testClaimed(t, "again", func(s subject, r driver.Record) {
		a := s.attach(false)
		s.wins(fenceOf(r), a.to(c), finished(r, c))
		a.again(finished(r, c), func() (driver.Record, bool, error) {
			return s.Store.Change(s.Context(), fenceOf(r), a.to(c))
		})
	})
	h.testClaimed(t, "with other arguments is another call", func(s subject, r driver.Record) {
		a := s.attach(false)
		s.loses(driver.Fence{Owner: "mallory"}, a.to(c))
		a.times(0)
		s.wins(fenceOf(r), a.to(c), finished(r, c))
		a.times(1)
	})
	h.testClaimed(t, "two results are two calls", func(s subject, r driver.Record) {
		a := s.attach(false)
		s.wins(fenceOf(r), a.to(c), finished(r, c))
		s.loses(fenceOf(r), a.to(finish(driver.Completed, "2")))
		a.times(1)
	})
	t.Run("lost", func(t *testing.T) {
		for _, refused := range []bool{false, true} {
			// The condition on the record takes precedence.
			s := on(t, h)
			s.claimed("alice")
			s.attach(refused).loses(driver.Fence{Owner: "mallory"}, c)
			s.plant(driver.Record{})
		}
	})
	h.testClaimed(t, "lost against a result", func(s subject, r driver.Record) {
		s.wins(fenceOf(r), c, finished(r, c))
		s.attach(true).loses(fenceOf(r), finish(driver.Completed, "2"))
	})
	h.test(t, "lost against no record", func(s subject) {
		s.attach(false).loses(driver.Fence{Owner: "alice"}, c)
	})
	h.testClaimed(t, "oversize", func(s subject, r driver.Record) {
		a := s.attach(false)
		c := finish(driver.Completed, string(noise(500<<10)))
		got := s.written(s.Store.Change(s.Context(), fenceOf(r), a.to(c)))
		want := finished(r, c)
		if got.Unavailable != "" {
			want.Data, want.Unavailable = nil, got.Unavailable
		}
		s.stored(want)
		a.times(1)
	})
}

func testTransactAdopt(t *testing.T, h Harness) {
	c := finish(driver.Completed, "alice's result")
	c.Owner = "alice"
	released := func(s subject) driver.Record {
		return s.plant(afterRelease(withStep(s.claim("bob"), "charge", "1"), driver.ReleaseKeep))
	}
	h.test(t, "finishes", func(s subject) {
		r := released(s)
		a := s.attach(false)
		s.wins(fenceOf(r), a.to(c), finished(r, c))
		a.times(1)
	})
	h.test(t, "refused", func(s subject) {
		r := released(s)
		a := s.attach(true)
		_, ok, err := s.Store.Change(s.Context(), fenceOf(r), a.to(c))
		a.rejected(r, ok, err)
	})
	h.test(t, "lost", func(s subject) {
		r := released(s)
		s.takenOver(r, "carol")
		s.attach(false).loses(fenceOf(r), c)
	})
}
