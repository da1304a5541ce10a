package redislocal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/lambda-once/once/internal/serving"
)

// allSlots are the slots of every cluster.
const allSlots = 16384

// A Cluster is a Redis Cluster of primaries without replicas.
type Cluster struct{ Nodes []*Server }

// Addrs returns the addresses of all nodes.
func (c *Cluster) Addrs() []string {
	var all []string
	for _, n := range c.Nodes {
		all = append(all, n.Addr())
	}
	return all
}

// NewCluster returns a cluster of n primaries that share the slots evenly. It is stopped
// when the test ends. It needs Redis 7 or Valkey.
func NewCluster(t TB, n int) *Cluster {
	t.Helper()
	c := &Cluster{}
	for range n {
		port, err := serving.FreePort()
		if err != nil {
			t.Fatalf("redislocal: %v", err)
		}
		c.Nodes = append(c.Nodes, NewServer(t, &Options{Args: []string{
			"--cluster-enabled", "yes", "--cluster-port", port,
			"--cluster-node-timeout", "2000", "--cluster-require-full-coverage", "yes",
		}}))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.join(ctx); err != nil {
		t.Fatalf("redislocal: cluster: %v", err)
	}
	return c
}

// join makes the nodes know each other, and returns when each serves.
func (c *Cluster) join(ctx context.Context) error {
	for n, node := range c.Nodes {
		first, next := n*allSlots/len(c.Nodes), (n+1)*allSlots/len(c.Nodes)
		if err := node.Client().ClusterAddSlotsRange(ctx, first, next-1).Err(); err != nil {
			return err
		}
		host, port, err := net.SplitHostPort(node.Addr())
		if err != nil {
			return err
		}
		bus, err := node.Client().ConfigGet(ctx, "cluster-port").Result()
		if err != nil {
			return err
		}
		if err := c.Nodes[0].Client().Do(ctx, "CLUSTER", "MEET", host, port, bus["cluster-port"]).Err(); err != nil {
			return err
		}
	}
	for _, node := range c.Nodes {
		if err := poll(ctx, func() error { return serves(ctx, node) }); err != nil {
			return err
		}
	}
	return nil
}

// serves reports an error until the node knows all nodes and their slots.
func serves(ctx context.Context, node *Server) error {
	text, err := node.Client().ClusterInfo(ctx).Result()
	info := strings.Fields(text)
	if slices.Contains(info, "cluster_state:ok") && slices.Contains(info, fmt.Sprintf("cluster_slots_assigned:%d", allSlots)) {
		return nil
	}
	return errors.Join(fmt.Errorf("%s does not serve: %s", node.Addr(), strings.Join(info, " ")), err)
}

// poll calls check until it returns nil, or returns its error when ctx ends.
func poll(ctx context.Context, check func() error) error {
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}
