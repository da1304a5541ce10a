package handlers

import (
	"context"

	"github.com/lambda-once/once/idempotent"
)

// httpEvents translates one kind of event.
type httpEvents[Req, Resp any] struct {
	name     string
	source   httpSource
	method   func(*Req) string
	request  func(*Req) *httpRequest
	response func(*Resp) httpResponse
	answer   func(*Req, httpResponse) Resp
}

func (t httpEvents[Req, Resp]) protect(x *idempotent.Executor, scope Scope, fn func(context.Context, Req) (Resp, error), o *HTTPOptions) func(context.Context, Req) (Resp, error) {
	if fn == nil {
		panic("handlers: " + t.name + ": the handler is nil")
	}
	g := newHTTPGuard(t.name, t.source, x, scope, o)
	return func(ctx context.Context, event Req) (Resp, error) {
		// An event without a method is of another kind, and would pass
		// unprotected.
		method := t.method(&event)
		needs := g.protects(method)
		if method != "" && needs == unprotected {
			return t.pass(ctx, fn, &event)
		}
		r := t.request(&event)
		r.method = method
		if needs == ifKeyed && !g.options.keyed(r) {
			return t.pass(ctx, fn, &event)
		}
		if method == "" {
			r.err = unreadable("the event has no HTTP method, as it is not of the kind that this function takes", nil)
		}
		var native, none Resp
		answer, err := g.serve(ctx, r, func(ctx context.Context) (httpResponse, error) {
			var err error
			if native, err = fn(ctx, event); err != nil {
				return httpResponse{}, named(err)
			}
			response := t.response(&native)
			if !response.isAnswer() {
				response = g.withoutStatus(ctx, t.name, response.Status)
				native = t.answer(&event, response)
			}
			return response, nil
		})
		switch {
		case err != nil:
			return none, reported(err)
		case answer.native:
			return native, nil
		default:
			return t.answer(&event, answer.response), nil
		}
	}
}

// pass calls the handler for a request that is not protected.
func (t httpEvents[Req, Resp]) pass(ctx context.Context, fn func(context.Context, Req) (Resp, error), event *Req) (Resp, error) {
	response, err := fn(idempotent.Unprotected(ctx), *event)
	if status, ok := statusOf(err); ok {
		return t.answer(event, status.response()), nil
	}
	return response, err
}
