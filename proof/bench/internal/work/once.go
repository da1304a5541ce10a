package work

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/postgres"
	onceredis "github.com/lambda-once/once/redis"
)

// caller returns the function that makes the calls of a job. The executor has opened the pool.
func (w *Worker) caller(x *idempotent.Executor, j Job, h *handler) caller {
	switch {
	case w.ByHand && w.On.isPostgreSQL():
		return handPostgreSQL(w.pools[j.Endpoint], j.Table, h.run).call
	case w.ByHand && w.On == Redis:
		return handRedis(w.redis(j.Endpoint), j.Table+":", h.run).call
	case w.ByHand:
		return handDynamoDB(w.dynamodb(j.Endpoint), j.Table, h.run).call
	}
	return idempotent.Wrap(x, paymentKey, h.run)
}

func (w *Worker) executor(j Job) (*idempotent.Executor, error) {
	store, err := w.store(j)
	if err != nil {
		return nil, err
	}
	config := w.Config
	if j.Kind == Cached {
		config.CacheEntries = 1000
	}
	return idempotent.New("create-payment", store, &config)
}

// store returns the store of a series, as a user makes it.
func (w *Worker) store(j Job) (driver.Store, error) {
	switch w.On {
	case PostgreSQL, Durable:
		pool, err := w.pool(j.Endpoint)
		if err != nil {
			return nil, err
		}
		return postgres.New(pool, j.Table, nil)
	case Redis:
		return onceredis.New(w.redis(j.Endpoint), &onceredis.Options{Prefix: j.Table + ":"})
	case Process:
		return w.records, nil
	}
	store, err := dynamo.New(w.dynamodb(j.Endpoint), j.Table, &w.Store)
	if err == nil && j.Bytes > 0 {
		return store.Shared(false) // not compressed, as in the other series
	}
	return store, err
}

func paymentKey(p payment) (idempotent.Key, error) {
	return idempotent.Key{Scope: p.Customer, ID: p.ID, Payload: p}, nil
}

// steps makes calls of j.Size steps, each with a small result.
func steps(x *idempotent.Executor, j Job, h *handler) func(i int) error {
	names := make([]string, j.Size)
	for i := range names {
		names[i] = fmt.Sprintf("step-%02d", i)
	}
	short := func(context.Context) (string, error) { return shortCharge, nil }
	call := func(ctx context.Context, p payment) (receipt, error) {
		return idempotent.Do(ctx, x, idempotent.Key{Scope: p.Customer, ID: p.ID}, func(ctx context.Context) (receipt, error) {
			for _, name := range names {
				if _, err := idempotent.Step(ctx, name, short); err != nil {
					return receipt{}, err
				}
			}
			return h.run(ctx, p)
		})
	}
	return func(i int) error {
		_, err := invoke(call, paymentOf(j, i))
		return err
	}
}

// inMemory makes duplicates of one call, with the store in memory: what remains is
// Once's own work.
func inMemory(j Job, h *handler) (func(i int) error, error) {
	x, err := idempotent.New("create-payment", memory.New(0), nil)
	if err != nil {
		return nil, err
	}
	p := paymentOf(j, 0)
	call := idempotent.Wrap(x, paymentKey, func(ctx context.Context, p payment) (payment, error) {
		_, err := h.run(ctx, p)
		return p, err
	})
	do := func(int) error {
		_, err := call(context.Background(), p)
		return err
	}
	return do, do(0)
}

// yardstick marshals the request of such a call and unmarshals its result, which is
// the least that any library has to do.
func yardstick(j Job) func(i int) error {
	p := paymentOf(j, 0)
	return func(int) error {
		raw, err := json.Marshal(p)
		if err != nil {
			return err
		}
		var result payment
		return json.Unmarshal(raw, &result)
	}
}
