package handlers

import (
	"context"
	"errors"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/lambda-once/once/idempotent"
)

// Invoke protects a function that is invoked directly, by Step Functions or an
// SDK. It is [idempotent.Wrap], except that a stored error is reported to
// Lambda under the type of the first one: the ErrorEquals of a Step Functions
// state matches that name, and has to match it in every repetition. So a
// [*idempotent.ReplayedError] becomes a messages.InvokeResponse_Error, and one
// of these that the function returns keeps the type it names.
func Invoke[Req, Resp any](x *idempotent.Executor, key func(Req) (idempotent.Key, error), fn func(context.Context, Req) (Resp, error)) func(context.Context, Req) (Resp, error) {
	if fn == nil {
		panic("handlers: Invoke: the handler is nil")
	}
	wrapped := idempotent.Wrap(x, key, func(ctx context.Context, request Req) (Resp, error) {
		response, err := fn(ctx, request)
		return response, named(err)
	})
	return func(ctx context.Context, request Req) (Resp, error) {
		response, err := wrapped(ctx, request)
		return response, reported(err)
	}
}

// namedError carries the type that a messages.InvokeResponse_Error names past
// the core, which would go by its Go type.
type namedError struct {
	err   error // with its marks
	named messages.InvokeResponse_Error
}

func (e *namedError) Error() string     { return e.named.Message }
func (e *namedError) Unwrap() error     { return e.err }
func (e *namedError) ErrorType() string { return e.named.Type }

func named(err error) error {
	var e messages.InvokeResponse_Error
	found := false
	_ = guarded(func() error { found = errors.As(err, &e); return nil }) // a typed nil panics
	if !found {
		return err
	}
	return &namedError{err, e}
}

// reported is an error in the form in which Lambda reports its type. Only the
// outermost error's counts there.
func reported(err error) error {
	switch e := err.(type) {
	case *namedError:
		return e.named
	case *idempotent.ReplayedError:
		if e != nil {
			return messages.InvokeResponse_Error{Type: e.Type, Message: e.Message}
		}
	}
	return err
}
