package soak

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/lambda-once/once/proof/soak/worker"
)

// disturbances are the events besides the traffic, and the time between two.
var disturbances = []struct {
	from, to time.Duration
	happen   func(ctx context.Context, s *stage, random *rand.Rand) error
}{
	{time.Second / 2, 3 * time.Second / 2, kill},
	{time.Second / 2, 2 * time.Second, freeze},
	{3 * time.Second, 15 * time.Second, func(_ context.Context, s *stage, random *rand.Rand) error {
		s.weather.gust(between(random, time.Second/2, 3*time.Second/2))
		return nil
	}},
}

// kill kills a mortal worker.
func kill(ctx context.Context, s *stage, random *rand.Rand) error {
	flight, err := s.pick(random, true).kill(context.WithoutCancel(ctx))
	s.kills++
	if flight > 0 {
		s.killsInFlight++
	}
	s.interrupted += flight
	return err
}

// freeze stops a further worker past its leases.
func freeze(ctx context.Context, s *stage, random *rand.Rand) error {
	s.freezes++
	return s.pick(random, false).freeze(ctx, between(random, worker.Lease*5/4, worker.Lease*2))
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
