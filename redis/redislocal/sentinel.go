package redislocal

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/lambda-once/once/internal/serving"
)

// NewSentinel returns a Sentinel that watches a primary under a name, until the test ends.
// It knows a replica, and promotes one a second or two after the primary has gone.
func NewSentinel(t TB, name string, primary *Server) *Server {
	t.Helper()
	host, port, err := net.SplitHostPort(primary.Addr())
	if err != nil {
		t.Fatalf("redislocal: %v", err)
	}
	kind := sentinelOf(fmt.Sprintf("sentinel monitor %s %s %s 1\n"+
		"sentinel down-after-milliseconds %s 3000\nsentinel failover-timeout %s 3000\n", name, host, port, name, name))
	s := serving.ForTest(t, func(ctx context.Context, o *serving.Options) (*Server, error) { return start(ctx, kind, o) })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = poll(ctx, func() error {
		state, err := s.Client().Do(ctx, "SENTINEL", "MASTER", name).Result()
		if known, ok := state.(map[any]any); err == nil && ok && known["num-slaves"] != "0" {
			return nil
		}
		return fmt.Errorf("no replica: %v, %w", state, err)
	})
	if err != nil {
		t.Fatalf("redislocal: sentinel: %v", err)
	}
	return s
}
