package handlers

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/lambda-once/once/idempotent"
)

// Invoke protects a function that is invoked directly, by Step Functions or an
// SDK. It is [idempotent.Wrap], except that a stored error is reported to
// Lambda under the type of the first one: the ErrorEquals of a Step Functions
// state matches that name, and has to match it in every repetition. So a
// [*idempotent.ReplayedError] becomes a messages.InvokeResponse_Error.
func Invoke[Req, Resp any](x *idempotent.Executor, key func(Req) (idempotent.Key, error), fn func(context.Context, Req) (Resp, error)) func(context.Context, Req) (Resp, error) {
	wrapped := idempotent.Wrap(x, key, fn)
	return func(ctx context.Context, request Req) (Resp, error) {
		response, err := wrapped(ctx, request)
		return response, reported(err)
	}
}

// reported is an error in the form in which Lambda reports its type. Only the
// outermost error's counts there.
func reported(err error) error {
	if e, ok := err.(*idempotent.ReplayedError); ok {
		return messages.InvokeResponse_Error{Type: e.Type, Message: e.Message}
	}
	return err
}
