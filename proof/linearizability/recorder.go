package linearizability

import (
	"context"
	"errors"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// call is a call of a store that is made with a context.
type call func(context.Context) (driver.Record, bool, error)

// through is a store whose calls all go through one function.
type through struct {
	store driver.Store
	carry func(context.Context, request, call) (driver.Record, bool, error)
}

func (t through) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	return t.carry(ctx, request{kind: create, record: r, cutoff: cutoff}, func(ctx context.Context) (driver.Record, bool, error) {
		return t.store.Create(ctx, r, cutoff, with)
	})
}

func (t through) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	return t.carry(ctx, request{kind: kindOf(c), fence: f, change: c}, func(ctx context.Context) (driver.Record, bool, error) {
		return t.store.Change(ctx, f, c)
	})
}

func (t through) Get(ctx context.Context, id string) (driver.Record, error) {
	r, _, err := t.carry(ctx, request{kind: read}, func(ctx context.Context) (driver.Record, bool, error) {
		r, err := t.store.Get(ctx, id)
		return r, true, err
	})
	return r, err
}

// recorded is the store as one caller sees it. It writes every call into the history.
// gate is where a frozen process stops before it sends a request.
func recorded(store driver.Store, client int, h *history, gate func()) driver.Store {
	return through{store, func(ctx context.Context, q request, send call) (driver.Record, bool, error) {
		gate()
		o := h.begin(client, q)
		o.invocation, _ = ctx.Value(invocationKey{}).(*invocation)
		r, ok, err := send(context.WithValue(ctx, opKey{}, o))
		o.end(answer{unknown: err != nil, ok: ok, record: r})
		if _, invalid := errors.AsType[*driver.InvalidWriteError](err); invalid {
			h.problem("a write that the protocol never makes: %v: %v", q, err)
		}
		return r, ok, err
	}}
}
