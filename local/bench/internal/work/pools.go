package work

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/memory"
)

// poolSize is more than all callers of a job: none waits for a connection.
const poolSize = 32

// pool returns the pool of an endpoint, which is a connection string.
func (c *connections) pool(ctx context.Context, endpoint string) (*pgxpool.Pool, error) {
	if p := c.pools[endpoint]; p != nil {
		return p, nil
	}
	config, err := pgxpool.ParseConfig(endpoint)
	if err != nil {
		return nil, err
	}
	config.MaxConns = poolSize
	config.ConnConfig.DialFunc = c.dial
	// A connection that was idle for a second is asked before it is used. Whether one
	// was is chance here, and would be counted.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	p, err := pgxpool.NewWithConfig(ctx, config)
	if err == nil {
		c.pools[endpoint] = p
	}
	return p, err
}

// openPostgreSQL makes a call on each of n connections, which prepares the statements.
func (s Series) openPostgreSQL(ctx context.Context, c *connections, j Job, n int) error {
	pool, err := c.pool(ctx, j.Endpoint)
	if err != nil {
		return err
	}
	all := make([]*pgxpool.Conn, 0, n)
	defer func() {
		for _, one := range all {
			one.Release()
		}
	}()
	for range n {
		one, err := pool.Acquire(ctx)
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	for i := range all {
		id := rand.Text()
		all[i].Release() // the only one that is free, so the call uses it
		err := s.warm(ctx, c, j, id)
		if err == nil {
			err = s.warm(ctx, c, j, id) // a duplicate may have a statement of its own
		}
		one, again := pool.Acquire(ctx)
		if again == nil {
			all[i] = one
		}
		if err := errors.Join(err, again); err != nil {
			return err
		}
	}
	return nil
}

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

// memory returns the store of a table. Only the last one is kept.
func (c *connections) memory(table string) *memory.Store {
	if c.recordsTable != table {
		c.records, c.recordsTable = memory.New(0), table
	}
	return c.records
}

// dial opens a connection whose round trips count.
func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &counted{TCPConn: conn.(*net.TCPConn), trips: &c.sent}, nil
}

// counted counts round trips: writes that follow an answer. It has all methods of a
// TCP connection, because go-redis looks at the socket of an idle one.
type counted struct {
	*net.TCPConn
	trips    *atomic.Int64
	answered atomic.Bool // the last call was a Read that had bytes
}

// Read implements net.Conn.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if n > 0 {
		c.answered.Store(true)
	}
	return n, err
}

// Write implements net.Conn.
func (c *counted) Write(b []byte) (int, error) {
	if c.answered.Swap(false) {
		c.trips.Add(1)
	}
	return c.TCPConn.Write(b)
}
