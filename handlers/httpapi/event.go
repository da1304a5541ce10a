package httpapi

import (
	"context"
	"log/slog"

	"github.com/lambda-once/once/handlers/internal/lambdaerror"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// eventAdapter converts one kind of event.
type eventAdapter[Req, Resp any] struct {
	name     string
	source   source
	method   func(*Req) string
	request  func(*Req) *incoming
	response func(*Resp) httpResponse
	respond  func(*Req, httpResponse) Resp
}

func (t eventAdapter[Req, Resp]) protect(x *idempotent.Executor, scope Scope, fn func(context.Context, Req) (Resp, error), o *Options) func(context.Context, Req) (Resp, error) {
	var mistakes driver.Mistakes
	mistakes.If(fn == nil, "httpapi: %s: the handler is nil", t.name)
	g := newGuard(t.name, t.source, x, scope, o, mistakes)
	return func(ctx context.Context, event Req) (Resp, error) {
		// An event without a method is of a different kind, and would pass
		// unprotected.
		method := t.method(&event)
		needs := g.protects(ctx, method)
		if method != "" && needs == unprotected {
			return t.pass(ctx, fn, &event)
		}
		r := t.request(&event)
		r.Method = method
		if needs == ifKeyed && !g.keyed(ctx, r) {
			return t.pass(ctx, fn, &event)
		}
		if method == "" {
			r.err = unreadable("the event has no HTTP method, so it is not of the kind that this function takes", nil)
		}
		var native, none Resp
		result, err := g.serve(ctx, r, func(ctx context.Context) (httpResponse, error) {
			var err error
			if native, err = fn(ctx, event); err != nil {
				return httpResponse{}, lambdaerror.Named(err)
			}
			response := t.response(&native)
			if !response.valid() {
				response = g.withoutStatus(ctx, t.name, response.Status)
				native = t.respond(&event, response)
			}
			return response, nil
		})
		switch {
		case err != nil:
			return none, lambdaerror.Reported(err)
		case result.native:
			return native, nil
		default:
			return t.respond(&event, result.response), nil
		}
	}
}

// pass calls the handler for a request that is not protected.
func (t eventAdapter[Req, Resp]) pass(ctx context.Context, fn func(context.Context, Req) (Resp, error), event *Req) (Resp, error) {
	response, err := fn(idempotent.Unprotected(ctx), *event)
	if status, ok := statusOf(err); ok {
		return t.respond(event, status.response()), nil
	}
	return response, err
}

// withoutStatus replaces a response whose StatusCode was forgotten, or is none
// that a response can have. The work is done, so the replacement is stored
// whatever the option Store says, and all clients receive it.
func (g *guard) withoutStatus(ctx context.Context, adapter string, status int) httpResponse {
	claim, _ := idempotent.FromContext(ctx)
	slog.Default().LogAttrs(ctx, slog.LevelError, "the handler's response has no HTTP status from 200 to 599: set its StatusCode; the request was carried out, and its clients receive a 500",
		slog.String("handler", adapter), slog.String("operation", claim.Operation), slog.String("record_id", claim.RecordID), slog.Int("status", status))
	response := noStatus(status).response(g.options.Documentation)
	response.Final = true
	return response
}
