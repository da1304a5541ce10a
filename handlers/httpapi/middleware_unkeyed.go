package httpapi

import (
	"context"
	"net/http"

	"github.com/lambda-once/once/idempotent/adapter"
)

// serveUnkeyed captures nothing, as nothing is stored: either the request is
// refused, or the handler responds to it. Only a transaction holds the response
// back, which may report that it was refused.
func (g *guard) serveUnkeyed(w http.ResponseWriter, request *incoming, next http.Handler) {
	r := request.native
	failed := &failure{direct: true}
	direct := newDirect(w, g.options.MaxResponseBytes)
	ctx := adapter.With(r.Context(), adapter.Attaching(func() {
		if !direct.hold() {
			panic("httpapi: Middleware: a transaction after the response to a request without a key has begun, " +
				"which could not report that nothing was committed: open the transaction first")
		}
		failed.capture()
	}))
	result, err := g.serve(ctx, request, func(ctx context.Context) (httpResponse, error) {
		next.ServeHTTP(direct.responseWriter(), r.WithContext(failed.within(ctx)))
		if held := direct.captured(); held != nil {
			return g.finished(held, failed.err(), held.tooLong)
		}
		return httpResponse{Final: true}, failed.err()
	})
	held := direct.captured()
	switch {
	case held == nil && failed.err() != nil: // Fail has written the response
	case held != nil && err == nil && result.native:
		held.writeTo(w)
	case err == nil && result.native: // the handler has
	case direct.hasBegun(): // a problem would be appended
		panic(http.ErrAbortHandler)
	default:
		direct.drop()
		if err != nil {
			result.response = internalProblem.response(g.options.Documentation)
		}
		writeResponse(w, result.response)
	}
}
