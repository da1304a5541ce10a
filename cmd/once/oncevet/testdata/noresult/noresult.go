// Package noresult has types of which nothing is stored, and some of which something is.
package noresult

import (
	"context"
	"encoding/json"

	"github.com/lambda-once/once/idempotent"
)

type hidden struct{ id string }

type dashed struct {
	ID string `json:"-"`
}

type shown struct{ ID, secret string }

type marshals struct{ id string }

func (m marshals) MarshalJSON() ([]byte, error) { return json.Marshal(m.id) }

func Do(ctx context.Context, x *idempotent.Executor, h hidden, s shown, m marshals) {
	_, _ = idempotent.Do(ctx, x, idempotent.Key{ID: "1"}, func(context.Context) (*hidden, error) { return &h, nil })                      // want
	_, _ = idempotent.Do(ctx, x, idempotent.Key{ID: "2", Payload: h}, func(context.Context) (shown, error) { return s, nil })             // want
	_, _ = idempotent.Do(ctx, x, idempotent.Key{ID: "3", Payload: s}, func(context.Context) (struct{}, error) { return struct{}{}, nil }) // near
	_, _ = idempotent.Do(ctx, x, idempotent.Key{ID: "4", Payload: m}, func(context.Context) (marshals, error) { return m, nil })          // near
	_, _ = idempotent.Step(ctx, "step", func(context.Context) ([]dashed, error) { return nil, nil })                                      // want
	_, _ = idempotent.Step(ctx, "other", func(context.Context) ([]shown, error) { return nil, nil })                                      // near
	_, _ = idempotent.Fingerprint(h)                                                                                                      // want
	_, _ = idempotent.Fingerprint(s)                                                                                                      // near
	_ = s.secret
}
