package handlers

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net/http"

	"github.com/lambda-once/once/idempotent"
)

// Middleware protects a handler of net/http: on ECS, behind the Lambda Web
// Adapter, in a proxy of an API. Put what authenticates around it, and nothing
// that reads the body. The first client gets the handler's answer as it is,
// and every repetition the stored one.
//
// The body of a protected request is read before anything is looked up: one
// beyond MaxRequestBytes is answered 413, and a client that goes away while it
// sends runs nothing. The handler reads it again from the start. A client that
// goes away later does not end the handler's context, as it does elsewhere: it
// is the one that is about to repeat the request, and work that is broken off
// between its effect and its answer would be done again. A deadline of the
// context holds.
//
// A request without a key, where the executor lets it run, goes to the handler
// as it is, without any of these limits.
//
// The answer is held back until the handler returns, as an answer that has
// begun could not become a repetition's. So there is no http.Flusher and no
// http.Hijacker, an http.ResponseController says http.ErrNotSupported,
// informational answers (1xx) and trailers are dropped, and a body beyond
// MaxResponseBytes is refused by Write with a [*ResponseTooLargeError]. If the
// answer was one to store, what the handler did is done by then: instead of
// it, the client and all repetitions get one problem, with the status 500,
// that says so. This one is stored. The same holds for an answer to store that
// is broken off with http.ErrAbortHandler, as by a httputil.ReverseProxy.
//
// A handler that fails passes its error to [Fail]: a status that it writes by
// itself counts as a success, and undoes nothing.
//
// Another panic releases the key, and goes on to net/http. A
// http.TimeoutHandler belongs around the middleware: inside, its 503 would
// release the key while the work goes on.
func Middleware(x *idempotent.Executor, scope Scope, o *HTTPOptions) func(http.Handler) http.Handler {
	g := newHTTPGuard("Middleware", sourceMiddleware, x, scope, o)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			needs := g.protects(r.Method)
			if needs == unprotected {
				next.ServeHTTP(w, r.WithContext(idempotent.Unprotected(r.Context())))
				return
			}
			request, keyed := g.take(w, &r)
			switch {
			case !keyed && needs == ifKeyed:
				next.ServeHTTP(w, r.WithContext(idempotent.Unprotected(r.Context())))
				return
			case !keyed:
				g.serveUnkeyed(w, request, next)
				return
			}
			var held *heldResponse // the last run's
			ctx, cancel := outliving(r.Context())
			defer cancel()
			answer, err := g.serve(ctx, request, func(ctx context.Context) (httpResponse, error) {
				held = newHeldResponse(w.Header(), g.options.MaxResponseBytes)
				return g.hold(ctx, held, next, request)
			})
			switch {
			case err != nil:
				internal.response(g.options.Documentation).writeTo(w)
			case answer.native:
				held.writeTo(w)
			default:
				answer.response.writeTo(w)
			}
		})
	}
}

// serveUnkeyed holds nothing back, as nothing is kept: either the request is
// refused, or the handler answers it.
func (g *httpGuard) serveUnkeyed(w http.ResponseWriter, request *httpRequest, next http.Handler) {
	r := request.native
	failed := &failure{direct: true}
	answer, err := g.serve(r.Context(), request, func(ctx context.Context) (httpResponse, error) {
		next.ServeHTTP(w, r.WithContext(failed.within(ctx)))
		return httpResponse{done: true}, failed.noted()
	})
	switch {
	case failed.noted() != nil: // and answered
	case err != nil:
		internal.response(g.options.Documentation).writeTo(w)
	case !answer.native:
		answer.response.writeTo(w)
	}
}

// outliving is a context that ends neither with its client nor with the
// server, but at its deadline.
func outliving(ctx context.Context) (context.Context, context.CancelFunc) {
	lasting := context.WithoutCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(lasting, deadline)
	}
	return lasting, func() {}
}

// take reads a request as far as that is needed, and reports whether it has a
// key. One without, whose body had to be read, is replaced by one that has the
// body again.
func (g *httpGuard) take(w http.ResponseWriter, r **http.Request) (request *httpRequest, keyed bool) {
	request = &httpRequest{method: (*r).Method, caller: Caller{Headers: (*r).Header}, native: *r}
	if g.options.Key == nil && !g.options.keyed(request) {
		return request, false
	}
	request = g.read(w, *r)
	if g.options.keyed(request) {
		return request, true
	}
	again := (*r).WithContext((*r).Context())
	again.Body = io.NopCloser(bytes.NewReader(request.body))
	*r, request.native = again, again
	return request, false
}

// read takes the whole request, so that it can be compared.
func (g *httpGuard) read(w http.ResponseWriter, r *http.Request) *httpRequest {
	request := &httpRequest{
		method: r.Method, path: r.URL.EscapedPath(), query: rawQuery(r.URL.RawQuery),
		caller: Caller{Headers: r.Header}, native: r,
	}
	if r.PostForm != nil || r.MultipartForm != nil {
		// Requests that differ in it would have one fingerprint.
		panic("handlers: Middleware: a handler around it has read the body as a form")
	}
	if r.Body == nil { // a request that no server made
		return request
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, g.options.MaxRequestBytes))
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		request.err = tooLarge
	} else if err != nil {
		request.err = unreadable("its body ended early", err)
	}
	request.body = body
	return request
}

// hold runs the handler with the answer held back.
func (g *httpGuard) hold(ctx context.Context, held *heldResponse, next http.Handler, request *httpRequest) (response httpResponse, err error) {
	failed := &failure{}
	r := request.native.Clone(failed.within(ctx)) // another run gets it as it came
	r.Body = io.NopCloser(bytes.NewReader(request.body))
	r.ContentLength, r.TransferEncoding = int64(len(request.body)), nil
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil {
			noted := failed.noted()
			if !breaksOff(p) || noted == nil && !g.done(held) {
				panic(p)
			}
			response, err = g.ended(held, noted, true)
		}
	}()
	next.ServeHTTP(held, r)
	returned = true
	return g.ended(held, failed.noted(), held.tooLarge)
}

// ended is what becomes of a run that has passed an error to Fail, or none, and
// whose answer is broken or whole. An error of Write says nothing of the work,
// which is done.
func (g *httpGuard) ended(held *heldResponse, noted error, broken bool) (httpResponse, error) {
	_, ownStatus := statusOf(noted)
	switch {
	case noted != nil && (ownStatus || !isTooLarge(noted) || !g.done(held)):
		return httpResponse{}, noted
	case noted != nil, broken:
		return g.lost(held), nil
	}
	return held.response(), nil
}

// done reports whether a handler has begun an answer that is to be stored.
func (g *httpGuard) done(held *heldResponse) bool {
	return held.sent != nil && g.stores(held.status)
}

// breaksOff tells the panics of handlers that cannot write their answer: that
// of httputil.ReverseProxy, and those with the error that Write gave them.
// Released for that, the key would have the work done again.
func breaksOff(p any) bool {
	err, ok := p.(error)
	if !ok {
		return false
	}
	return isTooLarge(err) || err == http.ErrAbortHandler
}

func isTooLarge(err error) (is bool) {
	_ = guarded(func() error { _, is = errors.AsType[*ResponseTooLargeError](err); return nil }) // a typed nil panics
	return is
}

// lost takes the place of an answer that cannot be given. One that would not
// have been stored keeps its status, and is not stored either.
func (g *httpGuard) lost(held *heldResponse) httpResponse {
	problem := httpProblem{status: held.status, title: answerLost.title, detail: "The answer was too large to be passed on."}
	stored := g.stores(held.status)
	if stored {
		problem = answerLost
	}
	response := problem.response(g.options.Documentation)
	response.done = stored
	held.replace(response)
	return response
}

// answerLost takes the place of an answer whose work is done.
var answerLost = httpProblem{status: http.StatusInternalServerError, title: "The answer is lost",
	detail: "This request was carried out, but its answer was too large to be kept, or was broken off. Do not send it with another key."}

// writeTo answers a client of net/http. Fields that middleware around this one
// has set stay, unless the answer has them too.
func (r httpResponse) writeTo(w http.ResponseWriter) {
	body := []byte(r.Body)
	if r.Base64 {
		var err error
		if body, err = base64.StdEncoding.DecodeString(r.Body); err != nil {
			r, body = internal.response("about:blank"), nil
		}
	}
	maps.Copy(w.Header(), r.Headers)
	w.WriteHeader(r.Status)
	_, _ = w.Write(body) // the client has gone, and can ask again
}
