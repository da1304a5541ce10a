package redis

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/storetest"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/redis/redislocal"
)

func TestConformance(t *testing.T) {
	schedules := 200
	if testing.Short() {
		schedules = 20
	}
	for protocol, schedules := range map[int]int{2: 20, 3: schedules} {
		t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Harness {
				shared, prefix := redislocal.NewClient(t)
				client := redis.NewClient(&redis.Options{Addr: shared.Options().Addr, ContextTimeoutEnabled: true, PoolSize: 64, Protocol: protocol})
				t.Cleanup(func() { check.Nil(t, client.Close()) })
				s := storeOn(t, client, &Options{Prefix: prefix})
				return storetest.Harness{Store: s, Plant: plant(s, client), Schedules: schedules}
			})
		})
	}
}
