package soak

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// disturb kills mortal workers, stops the others past their leases, and lets the
// network throttle, until the context ends.
func (s *stage) disturb(ctx context.Context) {
	var tasks sync.WaitGroup
	// Sources of their own: the order in which these tasks choose is not determined.
	kills, freezes, gusts := s.source(), s.source(), s.source()
	tasks.Go(func() {
		for s.pause(ctx, kills, 500*time.Millisecond, 1500*time.Millisecond) {
			flight, err := s.pick(kills, true).kill(context.WithoutCancel(ctx))
			if err != nil {
				s.broken(err)
				return
			}
			s.kills++
			if flight > 0 {
				s.killsInFlight++
			}
			s.interrupted += flight
		}
	})
	tasks.Go(func() {
		for s.pause(ctx, freezes, time.Second/2, 2*time.Second) {
			if err := s.pick(freezes, false).freeze(ctx, between(freezes, lease+lease/4, 2*lease)); err != nil {
				s.broken(err)
				return
			}
			s.freezes++
		}
	})
	tasks.Go(func() {
		for s.pause(ctx, gusts, 3*time.Second, 15*time.Second) {
			s.weather.throttle()
		}
	})
	tasks.Wait()
}

func (s *stage) source() *rand.Rand { return rand.New(rand.NewPCG(s.random.Uint64(), 0)) }

// pause reports whether there is more to do.
func (s *stage) pause(ctx context.Context, random *rand.Rand, from, to time.Duration) bool {
	wait(ctx, between(random, from, to))
	return ctx.Err() == nil && s.failure() == nil
}

func between(random *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(random.Int64N(int64(to-from)))
}

// pick returns a random worker that may be killed, or one that may not.
func (s *stage) pick(random *rand.Rand, mortal bool) *worker {
	for {
		if w := s.crew[random.IntN(len(s.crew))]; w.mortal == mortal {
			return w
		}
	}
}
