package redis

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/storetest"
	"github.com/lambda-once/once/local/redislocal"
)

func TestCluster(t *testing.T) {
	if emulated(t) {
		t.Skip("needs a real server")
	}
	nodes := redislocal.NewCluster(t, 3)
	open := func(t *testing.T, o *redis.ClusterOptions) *redis.ClusterClient {
		o.Addrs = nodes.Addrs()
		client := redis.NewClusterClient(o)
		t.Cleanup(func() {
			if err := client.Close(); err != nil {
				t.Error(err)
			}
		})
		return client
	}
	t.Run("conforms", func(t *testing.T) {
		// Commands that only read go to any node, which must not concern the store.
		client := open(t, &redis.ClusterOptions{ReadOnly: true, RouteRandomly: true})
		storetest.Run(t, func(t *testing.T) storetest.Harness {
			s := storeOn(t, client, &Options{Prefix: t.Name() + ":"})
			return storetest.Harness{Store: s, Plant: plant(s, client), Schedules: 20}
		})
	})
	t.Run("answers as one server does", func(t *testing.T) {
		_, prefix := redislocal.NewClient(t)
		want := story(t, storeOn(t, redislocal.NewServer(t, nil).Client(), &Options{Prefix: prefix}))
		for name, o := range map[string]*redis.ClusterOptions{
			"RESP3": {}, "RESP2": {Protocol: 2}, "spread reads": {ReadOnly: true, RouteByLatency: true},
		} {
			if got := story(t, storeOn(t, open(t, o), &Options{Prefix: prefix + name})); got != want {
				t.Errorf("%s: got\n%swant\n%s", name, got, want)
			}
		}
	})
	t.Run("waits at the primary of the key", func(t *testing.T) {
		s := storeOn(t, open(t, &redis.ClusterOptions{}), &Options{Prefix: "wait:", Replicas: 1, WaitTimeout: time.Millisecond})
		for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
			_, _, err := s.Create(t.Context(), claim(id), time.Now(), nil)
			var short *ReplicationError
			if !errors.As(err, &short) || short.Acknowledged != 0 {
				t.Errorf("%s: %v; no primary has a replica", id, err)
			}
		}
	})
	t.Run("tells a client of one node from a client of the cluster", func(t *testing.T) {
		moved := 0
		for _, node := range nodes.Nodes {
			_, _, err := storeOn(t, node.Client(), nil).Create(t.Context(), claim("secret-id"), time.Now(), nil)
			if err != nil {
				expectError(t, err, true, false, "ClusterClient")
				moved++
			}
		}
		if moved != 2 {
			t.Errorf("%d nodes refused, want 2", moved)
		}
	})
}
