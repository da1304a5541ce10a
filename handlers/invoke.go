package handlers

import (
	"context"

	"github.com/lambda-once/once/handlers/internal/lambdaerror"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// Invoke protects a function that Step Functions or an SDK invokes directly. It
// is [idempotent.Wrap], except that Lambda reports a stored error under the type
// of the first one: the ErrorEquals of a Step Functions state matches that name,
// and must match it in every repetition. So a [*idempotent.ReplayedError]
// becomes a messages.InvokeResponse_Error, and a messages.InvokeResponse_Error
// that the function returns keeps the type it names.
func Invoke[Req, Resp any](x *idempotent.Executor, key func(Req) (idempotent.Key, error), fn func(context.Context, Req) (Resp, error)) func(context.Context, Req) (Resp, error) {
	var mistakes driver.Mistakes
	mistakes.If(x == nil, "handlers: Invoke: the executor is nil")
	mistakes.If(key == nil, "handlers: Invoke: the key function is nil")
	mistakes.If(fn == nil, "handlers: Invoke: the handler is nil")
	mistakes.Panic()
	wrapped := idempotent.Wrap(x, key, func(ctx context.Context, request Req) (Resp, error) {
		response, err := fn(ctx, request)
		return response, lambdaerror.Named(err)
	})
	return func(ctx context.Context, request Req) (Resp, error) {
		response, err := wrapped(ctx, request)
		return response, lambdaerror.Reported(err)
	}
}
