package linearizability

import (
	"context"
	"errors"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// recorder is the store as one caller sees it. It writes every call into the
// history.
type recorder struct {
	store   driver.Store
	client  int
	history *history
	// gate is where a frozen process stops, before it sends a request.
	gate func()
}

func (r *recorder) record(ctx context.Context, q request, send func(context.Context) (driver.Record, bool, error)) (driver.Record, bool, error) {
	if r.gate != nil {
		r.gate()
	}
	o := r.history.begin(r.client, q)
	o.invocation, _ = ctx.Value(invocationKey{}).(*invocation)
	rec, ok, err := send(context.WithValue(ctx, opKey{}, o))
	o.end(answer{unknown: err != nil, ok: ok, record: rec})
	var invalid *driver.InvalidWriteError
	if errors.As(err, &invalid) {
		r.history.problem("a write that the protocol never makes: %v: %v", q, err)
	}
	return rec, ok, err
}

func (r *recorder) Create(ctx context.Context, rec driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	return r.record(ctx, request{kind: create, record: rec, cutoff: cutoff}, func(ctx context.Context) (driver.Record, bool, error) {
		return r.store.Create(ctx, rec, cutoff, with)
	})
}

func (r *recorder) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	return r.record(ctx, request{kind: kindOf(c), fence: f, change: c}, func(ctx context.Context) (driver.Record, bool, error) {
		return r.store.Change(ctx, f, c)
	})
}

func (r *recorder) Get(ctx context.Context, id string) (driver.Record, error) {
	rec, _, err := r.record(ctx, request{kind: read}, func(ctx context.Context) (driver.Record, bool, error) {
		rec, err := r.store.Get(ctx, id)
		return rec, true, err
	})
	return rec, err
}
