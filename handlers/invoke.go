package handlers

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/lambda-once/once/idempotent"
)

// Invoke protects a function that Step Functions or an SDK invokes directly. It
// is [idempotent.Wrap], except that Lambda reports a stored error under the type
// of the first one: the ErrorEquals of a Step Functions state matches that name,
// and must match it in every repetition. So a [*idempotent.ReplayedError]
// becomes a messages.InvokeResponse_Error, and a messages.InvokeResponse_Error
// that the function returns keeps the type it names.
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

// NamedError is the error that an [idempotent.Observer] receives for a handler's
// messages.InvokeResponse_Error. It carries the type that this error names
// through the core, which would otherwise store its Go type.
type NamedError struct {
	Err   error // as the handler returned it
	Named messages.InvokeResponse_Error
}

func (e *NamedError) Error() string { return e.Named.Message }

// SafeText returns the type alone: the handler wrote the message.
func (e *NamedError) SafeText() string { return fmt.Sprintf("%T", e) }

// Unwrap returns Err.
func (e *NamedError) Unwrap() error { return e.Err }

// ErrorType returns the type that the error names. See [idempotent.Permanent].
func (e *NamedError) ErrorType() string { return e.Named.Type }

func named(err error) error {
	var e messages.InvokeResponse_Error
	found := false
	_ = guarded(func() error { found = errors.As(err, &e); return nil }) // a typed nil panics
	if !found {
		return err
	}
	return &NamedError{err, e}
}

// reported returns an error in the form in which Lambda reports its type. Lambda
// considers only the outermost error.
func reported(err error) error {
	switch e := err.(type) {
	case *NamedError:
		return e.Named
	case *idempotent.ReplayedError:
		if e != nil {
			return messages.InvokeResponse_Error{Type: e.Type, Message: e.Message}
		}
	}
	return err
}
