package work

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"
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
