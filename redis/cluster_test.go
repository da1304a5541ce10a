package redis

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/storetest"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/redis/redislocal"
)

func TestCluster(t *testing.T) {
	nodes := redislocal.NewCluster(t, 3)
	open := func(t *testing.T, o *redis.ClusterOptions) *redis.ClusterClient {
		o.Addrs = nodes.Addrs()
		client := redis.NewClusterClient(o)
		t.Cleanup(func() {
			check.Nil(t, client.Close())
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
	t.Run("follows a slot that moves", func(t *testing.T) {
		client := open(t, &redis.ClusterOptions{})
		followsASlot(t, nodes, "{a}", storeOn(t, client, nil))
		followsASlot(t, nodes, "{b}", storeOn(t, client, &Options{Replicas: 1, WaitTimeout: time.Millisecond}))
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
		check.Equal(t, moved, 2, "nodes that refused")
	})
}

// followsASlot moves the slot of a record, and makes a write at each step of the move.
func followsASlot(t *testing.T, nodes *redislocal.Cluster, id string, s *Store) {
	t.Helper()
	ignore := func(err error) error {
		var short *ReplicationError
		if errors.As(err, &short) {
			return nil // the cluster has no replicas
		}
		return err
	}
	key := s.options.Prefix + id
	slot, err := nodes.Nodes[0].Client().ClusterKeySlot(t.Context(), key).Result()
	check.Must(t, err)
	from := nodes.Nodes[int(slot)*len(nodes.Nodes)/16384]
	to := nodes.Nodes[(int(slot)*len(nodes.Nodes)/16384+1)%len(nodes.Nodes)]
	name := func(n *redislocal.Server) string {
		name, err := n.Client().ClusterMyID(t.Context()).Result()
		check.Must(t, err)
		return name
	}
	do := func(n *redislocal.Server, args ...any) {
		t.Helper()
		check.Must(t, n.Client().Do(t.Context(), args...).Err())
	}
	meets := func(when string) {
		t.Helper()
		for began := time.Now(); ; {
			met, ok, err := s.Create(t.Context(), claim(id), time.Now(), nil)
			if errors.Is(err, driver.ErrUnavailable) && ignore(err) != nil && time.Since(began) < 2*time.Minute {
				continue // it follows with the next call
			}
			if ok || ignore(err) != nil || err == nil && met.Owner != "alice" {
				t.Errorf("%s: ok %v, %v, %v", when, ok, met, err)
			}
			return
		}
	}
	if _, _, err := s.Create(t.Context(), claim(id), time.Now(), nil); ignore(err) != nil {
		t.Fatal(err)
	}
	do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", name(from))
	do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", name(to))
	meets("before the key moves")
	host, port, err := net.SplitHostPort(to.Addr())
	check.Must(t, err)
	do(from, "MIGRATE", host, port, key, 0, 5000)
	if s.options.Replicas == 0 {
		meets("while the slot moves") // a pipeline does not follow until it has
	}
	for _, n := range nodes.Nodes {
		do(n, "CLUSTER", "SETSLOT", slot, "NODE", name(to))
	}
	meets("after the slot has moved")
	check.Equal(t, to.Client().HGet(t.Context(), key, "owner").Val(), "alice", "the owner at the new node")
}
