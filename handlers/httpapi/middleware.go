package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"

	"github.com/lambda-once/once/handlers/internal/panics"
	"github.com/lambda-once/once/idempotent"
)

// Middleware protects a handler of net/http: on ECS, behind the Lambda Web
// Adapter, in a proxy of an API. Put authentication around it, and nothing that
// reads or decompresses the body. The first client receives the handler's response itself, and
// every repetition the stored one.
//
// Middleware reads the body of a protected request before it looks anything up.
// It refuses a body of more than MaxRequestBytes with 413, and runs nothing if
// the client disconnects while sending. The handler reads the body again from
// the start. A client that disconnects later does not cancel the handler's
// context: it is about to repeat the request, and work that is cut off between
// its effect and its response would run again. A deadline of the context applies.
//
// If the executor accepts requests without a key, they go to the handler
// unchanged, without any of these limits, and responses to them are streamed.
// Their ResponseWriter is one of Middleware, with http.Flusher, http.Hijacker and
// http.Pusher as the client's has them; other types around it are not seen.
// Once the handler has opened a transaction, the response waits for the commit:
// it is captured as that to a request with a key, and if its status would not be
// stored, nothing is committed. Opening a transaction panics if the response has
// begun.
//
// The response is sent when the handler returns, because a response that has
// begun cannot be replaced. So there is no http.Flusher and no http.Hijacker, an
// http.ResponseController returns http.ErrNotSupported, and informational
// responses (1xx) and trailers are dropped. Write refuses a body of more than
// MaxResponseBytes with a [*ResponseTooLargeError]. If such a response would be
// stored, the work is done: the client and all repetitions receive a problem
// with the status 500 that says so, which is stored instead. The same applies to
// such a response that the handler aborts with http.ErrAbortHandler, as a
// httputil.ReverseProxy does.
//
// A handler that fails passes its error to [Fail]: a status that it writes itself
// counts as a success, and undoes nothing.
//
// Any other panic releases the key and goes to net/http. Put an
// http.TimeoutHandler around the middleware: inside, its 503 would release the
// key while the work continues.
func Middleware(x *idempotent.Executor, scope Scope, o *Options) func(http.Handler) http.Handler {
	g := newGuard("Middleware", sourceMiddleware, x, scope, o, nil)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			needs := g.protects(r.Context(), r.Method)
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
			var captured *captureWriter // of the last run
			ctx, cancel := withoutClient(r.Context())
			defer cancel()
			result, err := g.serve(ctx, request, func(ctx context.Context) (httpResponse, error) {
				captured = newCapture(w.Header(), g.options.MaxResponseBytes)
				return g.capture(ctx, captured, next, request)
			})
			switch {
			case err != nil:
				writeResponse(w, internalProblem.response(g.options.Documentation))
			case result.native:
				captured.writeTo(w)
			default:
				writeResponse(w, result.response)
			}
		})
	}
}

// withoutClient returns a context that ends at its deadline, but not with its
// client or the server.
func withoutClient(ctx context.Context) (context.Context, context.CancelFunc) {
	detached := context.WithoutCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(detached, deadline)
	}
	return detached, func() {}
}

// take reads as much of a request as it must, and reports whether the request
// has a key. It replaces a request without one whose body it has read by one
// with the body again.
func (g *guard) take(w http.ResponseWriter, r **http.Request) (request *incoming, keyed bool) {
	request = &incoming{Method: (*r).Method, Headers: (*r).Header, caller: Caller{Headers: (*r).Header}, native: *r}
	if g.options.Key == nil && !g.keyed((*r).Context(), request) {
		return request, false
	}
	g.read(w, request)
	if g.keyed((*r).Context(), request) {
		return request, true
	}
	again := (*r).WithContext((*r).Context())
	again.Body = io.NopCloser(bytes.NewReader(request.Body))
	*r, request.native = again, again
	return request, false
}

// read reads the whole request, so that it can be compared.
func (g *guard) read(w http.ResponseWriter, request *incoming) {
	r := request.native
	request.Path, request.Query, request.rawQuery = r.URL.EscapedPath(), rawQuery(r.URL.RawQuery), r.URL.RawQuery
	if r.PostForm != nil || r.MultipartForm != nil {
		// Requests with different forms would have one fingerprint.
		panic("httpapi: Middleware: a handler around it has read the body as a form")
	}
	sent := cmp.Or[io.ReadCloser](r.Body, http.NoBody) // no server leaves it nil, but middleware may
	body, err := io.ReadAll(http.MaxBytesReader(w, sent, g.options.MaxRequestBytes))
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		request.err = &RequestTooLargeError{Limit: tooLarge.Limit}
	} else if err != nil {
		request.err = unreadable("its body ended early", err)
	} else if declared := r.ContentLength; declared > 0 && declared != int64(len(body)) {
		// Requests that differ in what is missing would have one fingerprint. 0 may
		// also mean an unknown length, in a request that no server made.
		request.err = unreadable(fmt.Sprintf("%d bytes of its body arrived, and its length is %d: a middleware around this one reads or decompresses the body; put it inside, or have it replace Body and ContentLength", len(body), declared), nil)
	}
	request.Body = body
}

// capture runs the handler and captures its response.
func (g *guard) capture(ctx context.Context, captured *captureWriter, next http.Handler, request *incoming) (response httpResponse, err error) {
	failed := &failure{}
	r := request.native.Clone(failed.within(ctx)) // another run gets it unchanged
	r.Body = io.NopCloser(bytes.NewReader(request.Body))
	r.ContentLength, r.TransferEncoding = int64(len(request.Body)), nil
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil {
			failure := failed.err()
			if !abortsResponse(p) || failure == nil && !g.done(captured) {
				panic(p)
			}
			response, err = g.finished(captured, failure, true)
		}
	}()
	next.ServeHTTP(captured, r)
	returned = true
	return g.finished(captured, failed.err(), captured.tooLong)
}

// finished returns the result of a run that has passed an error to Fail, or
// none, and whose response is incomplete or whole. An error of Write says
// nothing about the work, which is done.
func (g *guard) finished(captured *captureWriter, failure error, incomplete bool) (httpResponse, error) {
	_, ownStatus := statusOf(failure)
	switch {
	case failure != nil && (ownStatus || !isTooLarge(failure) || !g.done(captured)):
		return httpResponse{}, failure
	case failure != nil, incomplete:
		return g.replace(captured), nil
	}
	return captured.response(), nil
}

// done reports whether a handler has begun a response that will be stored.
func (g *guard) done(captured *captureWriter) bool {
	return captured.status != 0 && g.stores(captured.status)
}

// abortsResponse reports whether a panic is that of a handler that cannot write
// its response: httputil.ReverseProxy's, or one with the error of Write. If it
// released the key, the work would run again.
func abortsResponse(p any) bool {
	err, ok := p.(error)
	if !ok {
		return false
	}
	return isTooLarge(err) || err == http.ErrAbortHandler
}

func isTooLarge(err error) (is bool) {
	panics.Ignore(func() { _, is = errors.AsType[*ResponseTooLargeError](err) })
	return is
}

// replace replaces a response that cannot be sent. If the response would not
// have been stored, the replacement has its status, and is not stored either.
func (g *guard) replace(captured *captureWriter) httpResponse {
	p := tooLarge(captured.status)
	stored := g.stores(captured.status)
	if stored {
		p = responseLost
	}
	response := p.response(g.options.Documentation)
	response.Final = stored
	captured.replace(response)
	return response
}

// writeResponse sends a response to a client of net/http. Fields that middleware
// around this one has set stay, unless the response contains them too.
func writeResponse(w http.ResponseWriter, r httpResponse) {
	body := []byte(r.Body)
	if r.Base64 {
		var err error
		if body, err = base64.StdEncoding.DecodeString(r.Body); err != nil {
			r, body = internalProblem.response(noType), nil
		}
	}
	maps.Copy(w.Header(), r.Headers)
	w.WriteHeader(r.Status)
	_, _ = w.Write(body) // a client that has gone can repeat the request
}
