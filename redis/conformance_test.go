package redis

import (
	"testing"

	"github.com/lambda-once/once/idempotent/storetest"
)

func TestConformance(t *testing.T) {
	schedules := 200
	if testing.Short() {
		schedules = 20
	}
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		s, client := newStore(t)
		return storetest.Harness{Store: s, Plant: plant(s, client), Schedules: schedules}
	})
}
