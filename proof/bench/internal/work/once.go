package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/postgres"
	onceredis "github.com/lambda-once/once/redis"
)

// caller returns what makes the calls of a job.
func (s Series) caller(ctx context.Context, c *connections, j Job, h *handler) (caller, error) {
	switch {
	case s.ByHand && s.On == PostgreSQL:
		pool, err := c.pool(ctx, j.Endpoint)
		return handPostgreSQL(pool, j.Table, h.run).call, err
	case s.ByHand:
		return handDynamoDB(c.dynamodb(j.Endpoint), j.Table, h.run).call, nil
	}
	x, err := s.executor(ctx, c, j)
	if err != nil {
		return nil, err
	}
	call := idempotent.Wrap(x, paymentKey, h.run)
	return func(ctx context.Context, p payment) (receipt, error) {
		r, err := call(ctx, p)
		if errors.Is(err, idempotent.ErrInProgress) {
			return r, errRunning
		}
		return r, err
	}, nil
}

func (s Series) executor(ctx context.Context, c *connections, j Job) (*idempotent.Executor, error) {
	store, err := s.store(ctx, c, j)
	if err != nil {
		return nil, err
	}
	config := s.Config
	if j.Kind == Cached {
		config.CacheEntries = 1000
	}
	return idempotent.New("create-payment", store, &config)
}

// store returns the store of a series, as a user makes it.
func (s Series) store(ctx context.Context, c *connections, j Job) (driver.Store, error) {
	switch s.On {
	case PostgreSQL:
		pool, err := c.pool(ctx, j.Endpoint)
		if err != nil {
			return nil, err
		}
		return postgres.New(pool, j.Table, nil)
	case Redis:
		return onceredis.New(c.redis(j.Endpoint), &onceredis.Options{Prefix: j.Table + ":"})
	case Process:
		return c.memory(j.Table), nil
	}
	options := s.Store
	if j.Bytes > 0 {
		options.CompressAbove = -1 // as in the other series
	}
	return dynamo.New(c.dynamodb(j.Endpoint), j.Table, &options)
}

func paymentKey(p payment) (idempotent.Key, error) {
	return idempotent.Key{Scope: p.Customer, ID: p.ID, Payload: p}, nil
}

// steps makes calls of j.Size steps, each with a small result.
func (s Series) steps(ctx context.Context, c *connections, j Job, h *handler) (func(i int) error, error) {
	x, err := s.executor(ctx, c, j)
	if err != nil {
		return nil, err
	}
	names := make([]string, j.Size)
	for i := range names {
		names[i] = fmt.Sprintf("step-%02d", i)
	}
	return func(i int) error {
		ctx, cancel := invocation(ctx)
		defer cancel()
		p := paymentOf(j, i)
		_, err := idempotent.Do(ctx, x, idempotent.Key{Scope: p.Customer, ID: p.ID}, func(ctx context.Context) (receipt, error) {
			for _, name := range names {
				if _, err := idempotent.Step(ctx, name, func(context.Context) (string, error) { return shortCharge, nil }); err != nil {
					return receipt{}, err
				}
			}
			return h.run(ctx, p)
		})
		return err
	}, nil
}
