package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// testReplay sends every write twice, as a client does after a lost answer. The
// second copy succeeds again or meets the record of the first one. In either case
// it changes nothing.
func testReplay(t *testing.T, h Harness) {
	lapsed := planted(func(r *driver.Record) { r.Lease = now.Add(-time.Minute) })
	h.test(t, "take over", lapsed, twice(takeOver("bob")))
	h.test(t, "take over a foreign record", plants(foreign()), twice(takeOver("bob")))
	h.test(t, "adopt", plants(after(claim("bob"), keep)), twice(adopt("alice")))
	for _, w := range ownWrites() {
		second := func(r *driver.Record) { r.Attempt, r.Steps = 2, map[string][]byte{} }
		h.test(t, w.name, planted(second), twice(w.change))
	}
}

// twice expects that c is applied, and that a second copy changes nothing.
func twice(c driver.Change) act {
	return func(s *subject) {
		w := s.alteration(c)
		s.send(w, true)
		got, ok, err := w.call(s.Context(), s.Store)
		if err != nil {
			s.Fatalf("second copy of %v: %v", w, err)
		}
		d := diff(s.item, got)
		if ok {
			d = diffAnswer(c, s.item, got)
		}
		if d != "" {
			s.Errorf("result of the second copy: %s", d)
		}
		s.check()
	}
}

// testContext calls with a context that is done. The result must be an error: a
// failed condition would claim knowledge of a record that was never read.
func testContext(t *testing.T, h Harness) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	past, cancelPast := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancelPast()
	for name, ctx := range map[string]context.Context{"cancelled": done, "deadline": past} {
		expect := func(s *subject, ok bool, err error) {
			s.Helper()
			if ok || !errors.Is(err, ctx.Err()) {
				s.Errorf("ok %v, error %v; want %v", ok, err, ctx.Err())
			}
		}
		create := func(owner string) act {
			return func(s *subject) {
				_, ok, err := s.creation(claim(owner), now).call(ctx, s.Store)
				expect(s, ok, err)
			}
		}
		t.Run(name, func(t *testing.T) {
			h.test(t, "create", create("alice"))
			h.test(t, "create against a claim", claimed, create("bob"), (*subject).check)
			h.test(t, "get", claimed, func(s *subject) {
				_, err := s.Store.Get(ctx, s.id)
				expect(s, false, err)
			})
			for _, w := range ownWrites() {
				h.test(t, w.name, claimed, func(s *subject) {
					for _, owner := range []string{"alice", "mallory"} {
						_, ok, err := s.alteration(w.change, as(owner)).call(ctx, s.Store)
						expect(s, ok, err)
					}
				})
			}
		})
	}
}

// testClock moves the callers' time back. A store has no clock of its own, so
// the time of one call must not affect a later one.
func testClock(t *testing.T, h Harness) {
	past := now.Add(-48 * time.Hour)
	h.test(t, "expired at one time and not at an earlier one", planted(expired),
		meets(claim("bob"), past), creates(claim("carol"), now), meets(claim("bob"), past))
	h.test(t, "other records do not move the time", claimed, func(s *subject) {
		s.another("2").do(creates(claim("bob"), s.item.Expires.AddDate(1, 0, 0)))
	}, meets(claim("bob"), now))
	behind := claim("alice")
	behind.Lease, behind.Expires = past.Add(lease), past.Add(retention)
	h.test(t, "a claim in the past", creates(behind, past), creates(claim("bob"), now))
	takes := takeOver("bob")
	takes.Lease, takes.Expires = past, past.Add(retention)
	h.test(t, "take over with a clock behind", claimed, reads, wins(takes), loses(takes, asRead))
	h.test(t, "a heartbeat with a clock behind", claimed,
		loses(driver.Change{Lease: behind.Lease, Expires: behind.Expires}))
	done := finish(driver.Completed, "42")
	done.Expires = past.Add(retention)
	h.test(t, "a result with a clock behind", claimed, wins(done), creates(claim("bob"), now))
}
