package storetest

import (
	"context"
	"errors"
	"testing"
	"time"
)

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
