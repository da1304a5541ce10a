// Package resumable carries a protected handler from where it is made to handlers.Resume.
package resumable

import (
	"context"

	"github.com/lambda-once/once/idempotent"
)

// A Handler calls the handler of an executor with a stored request. Only the functions of
// Once that protect a handler make one: one that is not protected would run in each round.
type Handler struct {
	x    *idempotent.Executor
	call func(ctx context.Context, request []byte) error
}

// New returns a Handler. call must make its call under x.
func New(x *idempotent.Executor, call func(ctx context.Context, request []byte) error) Handler {
	return Handler{x, call}
}

// Executor returns the executor, or nil for the zero value.
func (h Handler) Executor() *idempotent.Executor { return h.x }

// Call calls the handler.
func (h Handler) Call(ctx context.Context, request []byte) error { return h.call(ctx, request) }
