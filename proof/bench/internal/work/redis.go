package work

import (
	"context"
	"crypto/rand"

	"github.com/redis/go-redis/v9"
)

// redis returns the client of an endpoint, which is a host and port.
func (c *connections) redis(endpoint string) *redis.Client {
	if c.clients[endpoint] == nil {
		c.clients[endpoint] = redis.NewClient(&redis.Options{Addr: endpoint, ContextTimeoutEnabled: true, Dialer: c.dial, PoolSize: poolSize})
	}
	return c.clients[endpoint]
}

// openRedis opens n connections, and makes a call that sends the scripts.
func (s Series) openRedis(ctx context.Context, c *connections, j Job, n int) (err error) {
	for range n {
		one := c.redis(j.Endpoint).Conn()
		defer func() {
			if e := one.Close(); err == nil { // returns it to the pool
				err = e
			}
		}()
		if err := one.Ping(ctx).Err(); err != nil {
			return err
		}
	}
	return s.warm(ctx, c, j, rand.Text())
}
