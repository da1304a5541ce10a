package httpapi

import (
	"context"
	"net/http"

	"github.com/lambda-once/once/handlers/httpapi/internal/capture"
	"github.com/lambda-once/once/handlers/httpapi/internal/httpmsg"
	"github.com/lambda-once/once/idempotent/adapter"
)

// serveUnkeyed captures nothing, as nothing is stored: either the request is
// refused, or the handler responds to it. Only a transaction holds the response
// back, which may report that it was refused.
func (g *guard) serveUnkeyed(w http.ResponseWriter, request *incoming, next http.Handler) {
	r := request.native
	failed := &failure{direct: true}
	direct := capture.NewDirect(w, g.options.MaxResponseBytes, &ResponseTooLargeError{Limit: g.options.MaxResponseBytes})
	ctx := adapter.With(r.Context(), adapter.Attaching(func() {
		if !direct.Hold() {
			panic("httpapi: Middleware: a transaction after the response to a request without a key has begun, " +
				"which could not report that nothing was committed: open the transaction first")
		}
		failed.capture()
	}))
	result, err := g.serve(ctx, request, func(ctx context.Context) (httpmsg.Response, error) {
		next.ServeHTTP(direct.ResponseWriter(), r.WithContext(failed.within(ctx)))
		if held := direct.Held(); held != nil {
			return g.finished(held, failed.err(), held.TooLong())
		}
		return httpmsg.Response{Final: true}, failed.err()
	})
	held := direct.Held()
	switch {
	case held == nil && failed.err() != nil: // Fail has written the response
	case held != nil && err == nil && result.native:
		held.WriteTo(w)
	case err == nil && result.native: // the handler has
	case direct.Begun(): // a problem would be appended
		panic(http.ErrAbortHandler)
	default:
		direct.Drop()
		if err != nil {
			result.response = internalProblem.response(g.options.Documentation)
		}
		writeResponse(w, result.response)
	}
}
