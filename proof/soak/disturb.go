package soak

import (
	"context"
	"math/rand/v2"
	"time"
)

// kill kills mortal workers until the context ends.
func (s *stage) kill(ctx context.Context, random *rand.Rand) {
	for pause(ctx, random, time.Second/2, 3*time.Second/2) {
		flight, err := s.pick(random, true).kill(context.WithoutCancel(ctx))
		if err != nil {
			s.fail(err)
		}
		s.kills++
		if flight > 0 {
			s.killsInFlight++
		}
		s.interrupted += flight
	}
}

// freeze stops the other workers past their leases.
func (s *stage) freeze(ctx context.Context, random *rand.Rand) {
	for pause(ctx, random, time.Second/2, 2*time.Second) {
		if err := s.pick(random, false).freeze(ctx, between(random, lease+lease/4, 2*lease)); err != nil {
			s.fail(err)
		}
		s.freezes++
	}
}

// throttle lets the network throttle most requests for a while.
func (s *stage) throttle(ctx context.Context, random *rand.Rand) {
	for pause(ctx, random, 3*time.Second, 15*time.Second) {
		s.weather.gust(between(random, time.Second/2, 3*time.Second/2))
	}
}

// pause reports whether there is more to do.
func pause(ctx context.Context, random *rand.Rand, from, to time.Duration) bool {
	wait(ctx, between(random, from, to))
	return ctx.Err() == nil
}

func between(random *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(random.Int64N(int64(to-from)))
}

// pick returns a random worker that may be killed, or one that may not.
func (s *stage) pick(random *rand.Rand, mortal bool) *member {
	for {
		if m := s.crew[random.IntN(len(s.crew))]; m.mortal == mortal {
			return m
		}
	}
}
