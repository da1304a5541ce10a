// Package stored has errors and results that are lost, and some that are stored.
package stored

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lambda-once/once/idempotent"
)

var errDeclined = errors.New("declined")

func decline() error { return idempotent.Permanent(errDeclined) }

func Lost(id string) []error {
	err := idempotent.Permanent(errDeclined)
	idempotent.Permanent(errDeclined) // want permanent
	return []error{
		fmt.Errorf("order %s: %v", id, err),                               // want permanent
		fmt.Errorf("order %s: %w", id, err),                               // near permanent
		fmt.Errorf("order: %s", decline()),                                // want permanent
		errors.New(err.Error()),                                           // want permanent
		errors.New(errDeclined.Error()),                                   // near permanent
		idempotent.Permanent(fmt.Errorf("%v", id)),                        // near permanent
		idempotent.Permanent(fmt.Errorf("order %s: %v", id, errDeclined)), // near permanent
		fmt.Errorf("order %v: %w", id, decline()),                         // near permanent
	}
}

type hidden struct{ id string }

type dashed struct {
	ID string `json:"-"`
}

type shown struct{ ID, secret string }

type marshals struct{ id string }

func (m marshals) MarshalJSON() ([]byte, error) { return json.Marshal(m.id) }

func Do(ctx context.Context, x *idempotent.Executor, h hidden, s shown, m marshals) {
	_, _ = idempotent.Do(ctx, x, idempotent.Key{ID: "1"}, func(context.Context) (*hidden, error) { return &h, nil })                      // want noresult
	_, _ = idempotent.Do(ctx, x, idempotent.Key{ID: "2", Payload: h}, func(context.Context) (shown, error) { return s, nil })             // want noresult
	_, _ = idempotent.Do(ctx, x, idempotent.Key{ID: "3", Payload: s}, func(context.Context) (struct{}, error) { return struct{}{}, nil }) // near noresult
	_, _ = idempotent.Do(ctx, x, idempotent.Key{ID: "4", Payload: m}, func(context.Context) (marshals, error) { return m, nil })          // near noresult
	_, _ = idempotent.Step(ctx, "step", func(context.Context) ([]dashed, error) { return nil, nil })                                      // want noresult
	_, _ = idempotent.Step(ctx, "other", func(context.Context) ([]shown, error) { return nil, nil })                                      // near noresult
	_, _ = idempotent.Fingerprint(h)                                                                                                      // want noresult
	_, _ = idempotent.Fingerprint(s)                                                                                                      // near noresult
	_ = s.secret
}
