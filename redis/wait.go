package redis

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
)

// A ReplicationError reports that a write reached the primary, and fewer replicas than
// Options.Replicas in time. It wraps [driver.ErrUnavailable]: the outcome is unknown
// until the primary has shown that it outlives a failover, or has not.
type ReplicationError struct{ Wanted, Acknowledged int }

func (e *ReplicationError) Error() string {
	return fmt.Sprintf("redis: %d of %d replicas acknowledged in time; check the replicas, or raise Options.WaitTimeout",
		e.Acknowledged, e.Wanted)
}

// SafeText returns the whole text.
func (e *ReplicationError) SafeText() string { return e.Error() }

// Unwrap returns [driver.ErrUnavailable].
func (e *ReplicationError) Unwrap() error { return driver.ErrUnavailable }

// node returns the client of the primary that stores the key. A cluster's client would
// send WAIT, which has no key, to any node.
func (s *Store) node(ctx context.Context, key string) (*redis.Client, error) {
	switch c := s.client.(type) {
	case *redis.ClusterClient:
		return c.MasterForKey(ctx, key)
	case *redis.Client:
		return c, nil
	}
	return nil, fmt.Errorf("a client of type %T", s.client) // New refuses it
}

// evalAndWait sends a script and WAIT on one connection, in one round trip. A WAIT in
// the script would not wait.
func (s *Store) evalAndWait(ctx context.Context, m method, script, key string, args []any) (any, error) {
	node, err := s.node(ctx, key)
	if err != nil {
		return nil, err
	}
	var run, wait *redis.Cmd
	_, err = node.Pipelined(ctx, func(p redis.Pipeliner) error {
		run, wait = m(p, ctx, script, []string{key}, args...), p.Do(ctx, "WAIT", s.options.Replicas, s.options.WaitTimeout.Milliseconds())
		return nil
	})
	if cluster, ok := s.client.(*redis.ClusterClient); ok && (redis.HasErrorPrefix(err, "MOVED") || redis.HasErrorPrefix(err, "ASK")) {
		// The key has a new primary since. This request wrote nothing, and the
		// next one finds it.
		cluster.ReloadState(ctx)
	}
	if err := run.Err(); err != nil {
		return nil, err
	}
	n, err := wait.Int()
	if err != nil {
		return nil, err
	}
	if n < s.options.Replicas {
		return nil, &ReplicationError{Wanted: s.options.Replicas, Acknowledged: n}
	}
	return run.Val(), nil
}
