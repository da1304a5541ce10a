package handlers

import (
	"context"
	"net/http"
	"sync"
)

// Fail ends a request to a handler of net/http with an error, as a handler of
// HTTP events does that returns it. The handler should return then. The client
// gets the problem of a [StatusError], and of any other error a 500 that quotes
// nothing of it. Fail panics if err is nil.
//
// Within a [Middleware], err decides what becomes of the key when the handler
// has returned: see [StatusError] and [idempotent.Permanent]. What the handler
// has written is dropped. Of several errors the first counts. r has the context
// of the request that the handler got. A [*ResponseTooLargeError], which Write
// returned, is no failure of the work: it ends the request as [Middleware] says.
//
// In a request that is not protected, Fail writes to w at once, as http.Error
// does.
func Fail(w http.ResponseWriter, r *http.Request, err error) {
	if err == nil {
		panic("handlers: Fail: the error is nil")
	}
	f, ok := r.Context().Value(failureKey{}).(*failure)
	if !ok || f.note(err) {
		failed(err).writeTo(w)
	}
}

// failed is the answer to a request that ended with an error.
func failed(err error) httpResponse {
	if own, ok := statusOf(err); ok {
		return own.response()
	}
	return internal.response("about:blank")
}

type failureKey struct{}

// failure is what a handler of net/http has passed to Fail.
type failure struct {
	direct bool // nothing is held back: Fail writes the answer itself

	mu  sync.Mutex
	err error
}

// note keeps the first error, and reports whether it has to be written.
func (f *failure) note(err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return false
	}
	f.err = err
	return f.direct
}

func (f *failure) noted() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// within returns the context in which Fail finds f.
func (f *failure) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, failureKey{}, f)
}
