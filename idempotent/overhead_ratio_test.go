//go:build !race

package idempotent_test

import (
	"testing"
	"time"
)

// The race detector slows our code and the standard library by different
// factors, so this one runs without it.

// A duplicate costs at most 2.5 times what marshalling the request and
// unmarshalling the result cost by themselves. Both run in turns, and each
// counts with its best time, since whatever else the machine does only adds.
func TestDuplicateOverhead(t *testing.T) {
	if testing.Short() {
		t.Skip("a measurement, for an idle machine")
	}
	const calls, atLeast, atMost, limit = 200, 200, 2000, 2.5
	call := duplicate(t, nil)
	timed := func(fn func()) time.Duration {
		began := time.Now()
		for range calls {
			fn()
		}
		return time.Since(began) / calls
	}
	best, yard, ratio := time.Hour, time.Hour, 0.0
	for round := 1; round <= atLeast || ratio > limit && round <= atMost; round++ {
		yard = min(yard, timed(func() { yardstick(t) }))
		best = min(best, timed(call))
		ratio = float64(best) / float64(yard)
	}
	t.Logf("a duplicate takes %v, the yardstick %v: %.2f times", best, yard, ratio)
	if ratio > limit {
		t.Errorf("a duplicate takes %.2f times the yardstick, more than %.1f", ratio, limit)
	}
}
