package redis

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/redis/redislocal"
)

// The primary goes while a handler runs. A write that a replica has acknowledged survives.
func TestACallSurvivesAFailoverBehindSentinel(t *testing.T) {
	primary, replica := replicated(t)
	sentinel := redislocal.NewSentinel(t, "once", primary)
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "once", SentinelAddrs: []string{sentinel.Addr()}, ContextTimeoutEnabled: true, ReadTimeout: longRead,
	})
	defer client.Close()
	waits := storeOn(t, client, &Options{Replicas: 1, WaitTimeout: longWait})
	alice := created(t, waits, claim("a"))
	check.Must(t, primary.Stop())

	x, err := idempotent.New("op", storeOn(t, client, nil), nil)
	check.Must(t, err)
	for {
		_, err = idempotent.Do(t.Context(), x, idempotent.Key{Record: "a", Fingerprint: "f"}, func(context.Context) (string, error) {
			t.Error("a second caller runs")
			return "", nil
		})
		if !errors.Is(err, driver.ErrUnavailable) {
			break
		}
	}
	check.Is(t, err, idempotent.ErrInProgress, "after the failover")
	changed(t, storeOn(t, client, nil), alice, completed("1"))
	check.Equal(t, replica.Client().HGet(t.Context(), "once:a", "data").Val(), "1", "the new primary")
}
