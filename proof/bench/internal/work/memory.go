package work

import (
	"context"
	"encoding/json"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// memory returns the store of a table. Only the last one is kept.
func (c *connections) memory(table string) *memory.Store {
	if c.recordsTable != table {
		c.records, c.recordsTable = memory.New(0), table
	}
	return c.records
}

// inMemory makes duplicates of one call, with the store in memory: what remains is
// Once's own work.
func inMemory(ctx context.Context, j Job, h *handler) (func(i int) error, error) {
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
		_, err := call(ctx, p)
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
