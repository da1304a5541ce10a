package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

func TestCacheReplaysWithoutTheStore(t *testing.T) {
	for _, end := range []error{nil, idempotent.Permanent(errors.New("final"))} {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{CacheEntries: 10})
		first, _, firstErr := do(t.Context(), x, func(context.Context) (string, error) { return "first", end })
		again := try(t.Context(), t, x, mustNotRun(t)).with(first).ended(idempotent.OutcomeReplayed).roundTrips(0)
		check.Equal(t, again.err == nil, firstErr == nil)
		check.True(t, again.event.Cached)
		tryKey(t.Context(), t, x, otherPayload, mustNotRun(t)).is(idempotent.ErrKeyReused).roundTrips(0)
		// A result that was replayed from the store is cached too.
		y := newExecutor(t, store, &idempotent.Config{CacheEntries: 10})
		for i := range 2 {
			try(t.Context(), t, y, mustNotRun(t)).roundTrips(1 - i)
		}
	}
}

// Another process may treat a record as expired one skew before this process
// does, because its clock is ahead. So the cache drops the record earlier by as
// much.
func TestCacheDropsBeforeTheStoreDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{CacheEntries: 10, Retention: time.Hour, ClockSkew: 5 * time.Second})
		try(t.Context(), t, x, returns("first")).succeeded()
		end := stored(t, store).Expires
		time.Sleep(time.Until(end) - 5*time.Second - time.Millisecond)
		_, event, _ := do(t.Context(), x, mustNotRun(t))
		check.True(t, event.Cached)
		time.Sleep(time.Millisecond)
		r := try(t.Context(), t, x, mustNotRun(t)).returned("first")
		check.False(t, r.event.Cached)
	})
}

func TestCacheIsBounded(t *testing.T) {
	call := func(x *idempotent.Executor, i int, size int) bool {
		key := idempotent.Key{ID: fmt.Sprint(i)}
		return tryKey(t.Context(), t, x, key, returns(strings.Repeat("x", size))).succeeded().event.Cached
	}
	x := newExecutor(t, memory.New(0), &idempotent.Config{CacheEntries: 2})
	for _, step := range []struct {
		key    int
		cached bool
	}{{1, false}, {2, false}, {1, true}, {3, false}, {1, true}, {2, false}, {3, false}} {
		check.Equal(t, call(x, step.key, 1), step.cached, step.key)
	}
	y := newExecutor(t, memory.New(0), &idempotent.Config{CacheEntries: 1000})
	for i := range 10 {
		call(y, i, 2_500_000)
	}
	cached := 0
	for i := 9; i >= 0; i-- {
		if call(y, i, 2_500_000) {
			cached++
		}
	}
	check.Equal(t, cached, 3)
	for range 2 {
		check.False(t, call(y, 100, 10_000_000), "a result larger than the cache was cached")
	}
}
