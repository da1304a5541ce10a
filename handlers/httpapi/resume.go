package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/internal/resumable"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
)

// ResumeOptions choose the stored parts of a request under Config.Resume, so that
// handlers.Resume can finish work that its client left behind. See [Resumed] and
// [ResumedEvent]. Save and Restore are required.
//
// Stored are the method, the path, the query, the body, and the headers Content-Encoding,
// Content-Type, Options.Header and, with Options.ContinueChains, Once-Key. Of an event of API Gateway it
// is also the route, the path parameters and the stage. All else is empty in a request that
// is resumed.
type ResumeOptions struct {
	// Headers are further headers that are stored. If Options.Key is set, they include all
	// that it reads; a request whose key cannot be read from them fails. Host is stored
	// if it is among them. Headers with credentials, such as Authorization and Cookie, are
	// refused. Default none.
	Headers []string

	// Save returns the facts about the caller that the handler needs, as text, and no credentials. A
	// stored request has none, and no authorizer or middleware runs again before it. The
	// context is that of the request, in which a middleware may have put the caller. Save
	// is called for repetitions too. Its error is the call's, and nothing runs.
	Save func(ctx context.Context, caller Caller) (string, error)

	// Restore returns the context of the handler that is resumed: ctx with the caller
	// whose text Save returned. Nothing runs after an error, and the record stays. If
	// the handler needs nothing of its caller, Restore returns ctx.
	Restore func(ctx context.Context, saved string) (context.Context, error)
}

// credentials are headers that are never stored.
var credentials = []string{
	"Authorization", "Cf-Access-Jwt-Assertion", "Cookie", "Proxy-Authorization", "X-Amz-Security-Token", "X-Amzn-Oidc-Accesstoken", "X-Amzn-Oidc-Data",
	"X-Api-Key", "X-Auth-Token", "X-Csrf-Token", "X-Forwarded-Access-Token", "X-Goog-Iap-Jwt-Assertion", "X-Ms-Token-Aad-Access-Token", "X-Vault-Token", "X-Xsrf-Token",
}

// checkResume adds the mistakes of options for an executor that stores requests, or does
// not.
func (o *Options) checkResume(adapter string, stored bool, mistakes *driver.Mistakes) {
	if o == nil || o.Resume == nil {
		mistakes.If(stored, "httpapi: %s: Config.Resume is set, and Options.Resume is not: its Save and Restore say what the handler needs of its caller, as a stored request has no credentials", adapter)
		return
	}
	r := o.Resume
	mistakes.If(!stored, "httpapi: %s: Options.Resume has no effect without Config.Resume", adapter)
	mistakes.If(r.Save == nil, "httpapi: ResumeOptions.Save is nil; if the handler needs nothing of its caller, return \"\"")
	mistakes.If(r.Restore == nil, "httpapi: ResumeOptions.Restore is nil; if the handler needs nothing of its caller, return the context")
	for _, name := range r.Headers {
		mistakes.If(!isFieldName(name), "httpapi: ResumeOptions.Headers has %q, which is not a field name", name)
	}
	for _, name := range append([]string{o.Header}, r.Headers...) {
		mistakes.If(slices.Contains(credentials, http.CanonicalHeaderKey(name)), "httpapi: %s is a header with credentials, which Config.Resume does not store", name)
	}
}

// resume returns the option Resume with all headers that are stored.
func (o *Options) resume() *ResumeOptions {
	if o.Resume == nil {
		return nil
	}
	full := *o.Resume
	full.Headers = []string{"Content-Encoding", "Content-Type", o.Header}
	if o.ContinueChains {
		full.Headers = append(full.Headers, ChainHeader)
	}
	for _, name := range o.Resume.Headers {
		full.Headers = append(full.Headers, http.CanonicalHeaderKey(name))
	}
	return &full
}

// MarshalJSON returns the stored form of the request. It is called only before the call
// creates its record under Config.Resume.
func (e *exchange) MarshalJSON() ([]byte, error) { return e.store() }

// UnmarshalJSON returns an error: the stored form is read as a storedRequest.
func (e *exchange) UnmarshalJSON([]byte) error {
	return errors.New("httpapi: an exchange is not read from JSON")
}

var errKeyHeader error = &driver.ConfigError{Err: errors.New("httpapi: Options.Key does not return the same key for the request as it would be stored: list all headers that it reads in ResumeOptions.Headers")}

// storedForm returns the form of the request that Config.Resume stores. ctx is the request's.
func (g *guard) storedForm(ctx context.Context, e *exchange) (form []byte, err error) {
	defer func() { e.unsaved = err != nil }()
	r, o := e.request, g.options.Resume
	kept := httpResponse{Headers: r.Headers}.stored(o.Headers)
	if r.native != nil && slices.Contains(o.Headers, "Host") {
		kept.Headers.Set("Host", r.native.Host)
	}
	if g.options.Key != nil {
		again := *r
		again.Headers, again.found = kept.restored().Headers, nil
		if key, err := g.options.keyOf(&again); err != nil || key.ID != e.key.ID {
			return nil, errKeyHeader
		}
	}
	caller, err := o.Save(ctx, r.caller)
	if err != nil {
		return nil, err
	}
	return json.Marshal(storedRequest{Scope: e.key.Scope, Caller: caller, Request: storedParts{
		Method: r.Method, Path: r.Path, RawQuery: []byte(r.rawQuery), sent: r.sent, Headers: kept.Headers, Encoded: kept.Encoded, Body: r.Body,
	}})
}

// Resumed protects a handler as [Middleware] does, for the requests that it has stored:
//
//	lambda.Start(handlers.Resume(httpapi.Resumed(x, scope, mux, options), nil))
//
// handler is that of Middleware. If it has path values of a mux around Middleware, pass
// a mux with the handler itself. There is no authentication around it, which would refuse a
// request without credentials: the key has the scope with which the request was stored, and
// Restore puts the caller back. The response is stored and sent to nobody.
func Resumed(x *idempotent.Executor, scope Scope, handler http.Handler, o *Options) resumable.Handler {
	var mistakes driver.Mistakes
	mistakes.If(handler == nil, "httpapi: Resumed: the handler is nil")
	mistakes.Panic()
	protected := Middleware(x, scope, o)(handler)
	return resumed(x, func(ctx context.Context, s *storedRequest) error {
		r, err := s.httpRequest(ctx)
		if err == nil {
			protected.ServeHTTP(newCapture(http.Header{}, 0), r)
		}
		return err
	})
}

// ResumedEvent protects a handler as [APIGatewayV2], [APIGateway], [FunctionURL] or [ALB] does,
// for the requests that it has stored. Pass the arguments of that function. Everything else is
// as in [Resumed].
func ResumedEvent[Req events.ALBTargetGroupRequest | events.APIGatewayProxyRequest | events.APIGatewayV2HTTPRequest | events.LambdaFunctionURLRequest, Resp any](x *idempotent.Executor, scope Scope, fn func(context.Context, Req) (Resp, error), o *Options) resumable.Handler {
	var protected any
	switch fn := any(fn).(type) {
	case func(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error):
		protected = ALB(x, scope, fn, o)
	case func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error):
		protected = APIGateway(x, scope, fn, o)
	case func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error):
		protected = APIGatewayV2(x, scope, fn, o)
	case func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error):
		protected = FunctionURL(x, scope, fn, o)
	}
	call, ok := protected.(func(context.Context, Req) (Resp, error))
	var mistakes driver.Mistakes
	mistakes.If(!ok, "httpapi: ResumedEvent: no function of this package protects a %T", fn)
	mistakes.Panic()
	return resumed(x, func(ctx context.Context, s *storedRequest) error {
		var event Req
		err := s.event(&event)
		if err == nil {
			_, _ = call(ctx, event) // the resumption has the error of the call
		}
		return err
	})
}

// A resumption is a stored request on its way to the adapter that has stored it.
type resumption struct {
	request *storedRequest
	err     error // of the call
}

type resumptionKey struct{}

func resumptionIn(ctx context.Context) *resumption {
	p, _ := ctx.Value(resumptionKey{}).(*resumption)
	return p
}

// resumed returns the handler that has send pass a request to an adapter, and returns the
// error of its call.
func resumed(x *idempotent.Executor, send func(context.Context, *storedRequest) error) resumable.Handler {
	return resumable.New(x, func(ctx context.Context, data []byte) error {
		p := &resumption{request: new(storedRequest)}
		err := json.Unmarshal(data, p.request)
		if err == nil {
			err = send(context.WithValue(ctx, resumptionKey{}, p), p.request)
		}
		if err != nil {
			return &idempotent.ResumeError{Reason: "its request is none of this handler", Err: err}
		}
		return p.err
	})
}

var errForeignContext = errors.New("httpapi: its context does not come from the one that it was given")

// restore returns the context of the handler. Calls that the handler makes are none of the
// resumption.
func (g *guard) restore(ctx context.Context, p *resumption) (context.Context, error) {
	ctx = context.WithValue(ctx, resumptionKey{}, (*resumption)(nil))
	if g.options.Resume == nil {
		return ctx, nil // of another executor, whose key is another
	}
	restored, err := g.options.Resume.Restore(ctx, p.request.Caller)
	if err == nil && adapter.EventOf(restored) != adapter.EventOf(ctx) {
		err = errForeignContext // the call would be one of its own, and not the resumption
	}
	if err != nil {
		p.err = &idempotent.ResumeError{Reason: "ResumeOptions.Restore returned an error: " + idempotent.SafeText(err), Err: err}
	}
	return restored, err
}
