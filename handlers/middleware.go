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
// goes away later ends the handler's context, as always; if the handler
// finishes all the same, its answer is stored.
//
// The answer is held back until the handler returns, as an answer that has
// begun could not become a repetition's. So there is no http.Flusher and no
// http.Hijacker, an http.ResponseController says http.ErrNotSupported,
// informational answers (1xx) and trailers are dropped, and a body beyond
// MaxResponseBytes is refused by Write with a [*ResponseTooLargeError]. What
// the handler did is done by then: instead of its answer, the client and all
// repetitions get one problem, with the status 500, that says so. This one is
// stored.
//
// A panic releases the key, and goes on to net/http.
func Middleware(x *idempotent.Executor, scope Scope, o *HTTPOptions) func(http.Handler) http.Handler {
	g := newHTTPGuard("Middleware", sourceMiddleware, x, scope, o)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !g.options.protects(r.Method) {
				next.ServeHTTP(w, r.WithContext(idempotent.Unprotected(r.Context())))
				return
			}
			request := g.read(w, r)
			held := newHeldResponse(w.Header(), g.options.MaxResponseBytes)
			answer, err := g.serve(r.Context(), request, func(ctx context.Context) (httpResponse, error) {
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

// read takes the whole request, so that it can be compared.
func (g *httpGuard) read(w http.ResponseWriter, r *http.Request) *httpRequest {
	request := &httpRequest{
		method: r.Method, path: r.URL.EscapedPath(), query: rawQuery(r.URL.RawQuery),
		caller: Caller{Headers: r.Header}, native: r,
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
func (g *httpGuard) hold(ctx context.Context, held *heldResponse, next http.Handler, request *httpRequest) (response httpResponse, _ error) {
	r := request.native.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(request.body))
	r.ContentLength, r.TransferEncoding = int64(len(request.body)), nil
	defer func() {
		if !held.tooLarge {
			return
		}
		// A httputil.ReverseProxy that cannot write an answer panics with
		// ErrAbortHandler. Released for that, the key would have the work
		// done again behind the proxy.
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
		response = answerTooLarge.response(g.options.Documentation)
		response.done = true
		held.replace(response)
	}()
	next.ServeHTTP(held, r)
	return held.response(), nil
}

var answerTooLarge = httpProblem{status: http.StatusInternalServerError, title: "The answer was too large",
	detail: "This request was carried out, but its answer was too large to be kept. Do not send it with another key."}

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
