package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// testContext calls with a context that is done. The result must be an error: a
// failed condition would claim knowledge of a record that was never read.
func testContext(t *testing.T, h Harness) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	past, cancelPast := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancelPast()
	for name, c := range map[string]struct {
		ctx  context.Context
		want error
	}{
		"cancelled": {done, context.Canceled},
		"deadline":  {past, context.DeadlineExceeded},
	} {
		expect := func(t *testing.T, ok bool, err error) {
			t.Helper()
			if ok || !errors.Is(err, c.want) {
				t.Errorf("ok %v, error %v; want %v", ok, err, c.want)
			}
		}
		t.Run(name, func(t *testing.T) {
			t.Run("create", func(t *testing.T) {
				s := on(t, h)
				_, ok, err := h.Store.Create(c.ctx, s.claim("alice"), now, nil)
				expect(t, ok, err)
			})
			t.Run("create against a claim", func(t *testing.T) {
				s := on(t, h)
				r := s.claimed("alice")
				_, ok, err := h.Store.Create(c.ctx, s.claim("bob"), now, nil)
				expect(t, ok, err)
				s.stored(r)
			})
			t.Run("get", func(t *testing.T) {
				s := on(t, h)
				s.claimed("alice")
				_, err := h.Store.Get(c.ctx, s.id)
				expect(t, false, err)
			})
			for _, w := range ownWrites() {
				t.Run(w.name, func(t *testing.T) {
					s := on(t, h)
					r := s.claimed("alice")
					_, ok, err := h.Store.Change(c.ctx, fenceOf(r), w.change)
					expect(t, ok, err)
					_, ok, err = h.Store.Change(c.ctx, driver.Fence{ID: s.id, Owner: "mallory"}, w.change)
					expect(t, ok, err)
				})
			}
		})
	}
}
