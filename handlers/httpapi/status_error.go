package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lambda-once/once/handlers/internal/panics"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/form"
)

// StatusError is an error with an HTTP status. A handler of HTTP events returns
// it, and a handler of net/http passes it to [Fail]. The client receives a
// problem (RFC 9457, application/problem+json) with Status, Type, Title and
// Detail.
//
// If [Options].Store accepts the status, the call fails permanently, as with
// [idempotent.Permanent]: its transaction is not committed, the finished steps
// of its saga are undone, and every repetition receives the same problem. Until
// undoing has finished, clients receive 503. With any other status the key is
// released, and a repetition runs the handler again. A classification of the
// error ([idempotent.Permanent], [idempotent.Retryable]) applies as to any error.
//
// A response with the same status counts as a success instead: it undoes
// nothing.
type StatusError struct {
	// Status is from 400 to 599. Any other counts as 500.
	Status int
	// Type is a URI that names the kind of problem. Type and Title are cut to
	// 256 bytes each. Default "about:blank".
	Type string
	// Title is the kind of problem in a few words. Default: the status's.
	Title string
	// Detail is the text for this client. It is cut if the problem has more than
	// 4 KiB. In Type, Title and Detail, bytes that are not UTF-8 become U+FFFD.
	Detail string
	// RetryAfter is sent in the header Retry-After, in seconds rounded up. It is
	// not stored. Default: no such header.
	RetryAfter time.Duration
	// Err is the cause. It is neither sent nor stored.
	Err error

	// outer is the error that the handler returned, if it wraps this one.
	outer error
}

// Error returns a text for logs. It contains the text of the cause.
func (e *StatusError) Error() string {
	if e.outer != nil {
		return e.outer.Error()
	}
	text := fmt.Sprintf("httpapi: %d %s", e.status(), e.title())
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// SafeText returns the status alone: the handler wrote the rest.
func (e *StatusError) SafeText() string {
	return fmt.Sprintf("httpapi: %d %s", e.status(), http.StatusText(e.status()))
}

// Refusal returns [idempotent.RefusalRejected] for a status below 500, with which
// a Scope or [Options].Key refuses a request.
func (e *StatusError) Refusal() idempotent.Refusal {
	if e.status() < 500 {
		return idempotent.RefusalRejected
	}
	return ""
}

// Unwrap returns the cause.
func (e *StatusError) Unwrap() error {
	if e.outer != nil {
		return e.outer
	}
	return e.Err
}

const statusCode = "http-"

// ErrorCode returns "http-" and the status. See [idempotent.Permanent].
func (e *StatusError) ErrorCode() string { return statusCode + strconv.Itoa(e.status()) }

// FailureMessage returns the stored part of the error: the problem that the
// client receives. See [idempotent.Permanent].
func (e *StatusError) FailureMessage() string {
	body := details{
		Type: cmp.Or(form.Truncate(e.Type, 256), noType), Title: form.Truncate(e.title(), 256), Status: e.status(), Detail: e.Detail,
	}
	return body.encodeWithin(form.MaxFailureMessage)
}

func (e *StatusError) status() int {
	if e.Status < 400 || e.Status > 599 {
		return http.StatusInternalServerError
	}
	return e.Status
}

func (e *StatusError) title() string { return cmp.Or(e.Title, http.StatusText(e.status())) }

// response returns the client's response.
func (e *StatusError) response() httpResponse {
	r := httpResponse{Status: e.status(), Headers: http.Header{"Content-Type": {problemContentType}}, Body: e.FailureMessage()}
	if e.RetryAfter > 0 {
		r.Headers.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	return r
}

// statusOf returns the StatusError that err wraps, as a StatusError that wraps
// err. A call within the handler may have stored it.
func statusOf(err error) (found *StatusError, ok bool) {
	panics.Ignore(func() {
		if found, ok = errors.AsType[*StatusError](err); ok && found == nil {
			ok = false
		} else if replayed, is := errors.AsType[*idempotent.ReplayedError](err); !ok && is {
			found, ok = storedStatus(replayed)
		}
	})
	if !ok || error(found) == err {
		return found, ok
	}
	whole := *found
	whole.outer = err
	return &whole, true
}

// storedStatus returns a StatusError that was stored. If its message was
// shortened, only the status remains.
func storedStatus(stored *idempotent.ReplayedError) (*StatusError, bool) {
	if stored == nil || stored.Type != "StatusError" {
		return nil, false
	}
	number, ok := strings.CutPrefix(stored.Code, statusCode)
	status, err := strconv.Atoi(number)
	if !ok || err != nil || status < 400 || status > 599 {
		return nil, false
	}
	var p details
	if json.Unmarshal([]byte(stored.Message), &p) != nil || p.Status != status {
		p = details{}
	}
	return &StatusError{Status: status, Type: p.Type, Title: p.Title, Detail: p.Detail}, true
}

// UnstoredError releases the key of a response that is not stored. The client
// receives the response; observers receive an UnstoredError.
type UnstoredError struct{ Status int }

func (e *UnstoredError) Error() string {
	return fmt.Sprintf("httpapi: a response with the status %d is not stored; a retry runs the handler again", e.Status)
}

// SafeText returns the whole text.
func (e *UnstoredError) SafeText() string { return e.Error() }

// Fail ends a request to a handler of net/http with an error, which a handler of
// HTTP events would return. The handler should return after it. The client
// receives the problem of a [StatusError], and for any other error a 500 that
// quotes nothing of it. Fail panics if err is nil.
//
// Within a [Middleware], err decides whether the key is released when the handler
// has returned: see [StatusError] and [idempotent.Permanent]. The response that the
// handler has begun is dropped. The first of several errors counts. The context of r
// must be that of the request that the handler received. A
// [*ResponseTooLargeError] that Write returned is no failure of the work:
// [Middleware] says how it ends the request.
//
// In a request that is not protected, Fail writes to w at once, as http.Error
// does.
func Fail(w http.ResponseWriter, r *http.Request, err error) {
	if err == nil {
		panic("httpapi: Fail: the error is nil")
	}
	f, ok := r.Context().Value(failureKey{}).(*failure)
	if !ok || f.set(err) {
		writeResponse(w, errorResponse(err))
	}
}

// errorResponse returns the response to a request that ended with an error.
func errorResponse(err error) httpResponse {
	if own, ok := statusOf(err); ok {
		return own.response()
	}
	return internalProblem.response(noType)
}

type failureKey struct{}

// failure is the error that a handler of net/http has passed to Fail.
type failure struct {
	direct bool // the response is not captured: Fail writes it itself

	mu    sync.Mutex
	first error
}

// set stores the first error, and reports whether Fail must write it.
func (f *failure) set(err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first != nil {
		return false
	}
	f.first = err
	return f.direct
}

// capture has Fail leave the response to the end of the handler.
func (f *failure) capture() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.direct = false
}

func (f *failure) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first
}

// within returns the context in which Fail finds f.
func (f *failure) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, failureKey{}, f)
}
