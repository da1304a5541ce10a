package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lambda-once/once/idempotent"
)

// StatusError is an error with an HTTP status. A handler of HTTP events returns
// it, and one of net/http passes it to [Fail]. Its client gets a problem (RFC
// 9457, application/problem+json) with Status, Type, Title and Detail.
//
// Where [HTTPOptions].Store keeps the status, the call fails for good, as with
// [idempotent.Permanent]: its transaction is not committed, the finished steps
// of its saga are undone, and every repetition gets the same problem. While
// undoing is not finished, clients get 503. With any other status the key is
// released, and a repetition runs the handler again. A mark on the error
// ([idempotent.Permanent], [idempotent.Retryable]) counts as it does on others.
//
// An answer with the same status counts as a success instead: it undoes
// nothing.
type StatusError struct {
	// Status is from 400 to 599. Any other counts as 500.
	Status int
	// Type is a URI that names the kind of problem. Default "about:blank".
	// Type and Title have at most 256 bytes each, and are cut beyond.
	Type string
	// Title is the kind of problem in a few words. Default: the status's.
	Title string
	// Detail is the text for this client. It is cut where the problem has
	// more than 4 KiB.
	Detail string
	// RetryAfter is sent in the header Retry-After, in seconds rounded up. It
	// is not stored. Default: no such header.
	RetryAfter time.Duration
	// Err is the cause. It is neither sent nor stored.
	Err error

	// from is the error that the handler returned, where this one is within it.
	from error
}

// Error returns a text for logs. It contains the text of the cause.
func (e *StatusError) Error() string {
	if e.from != nil {
		return e.from.Error()
	}
	text := fmt.Sprintf("handlers: %d %s", e.status(), e.title())
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *StatusError) Unwrap() error {
	if e.from != nil {
		return e.from
	}
	return e.Err
}

const statusCode = "http-"

// ErrorCode returns "http-" and the status. See [idempotent.Permanent].
func (e *StatusError) ErrorCode() string { return statusCode + strconv.Itoa(e.status()) }

// FailureMessage returns what is stored of the error: the problem that its
// client gets. See [idempotent.Permanent].
func (e *StatusError) FailureMessage() string {
	p := problemJSON{Type: orDefault(clip(e.Type, 256), "about:blank"), Title: clip(e.title(), 256), Status: e.status(), Detail: e.Detail}
	const limit = 4 << 10 // of the core
	for {
		text := p.encode()
		if len(text) <= limit {
			return text
		}
		// Escapes take up to six bytes for one.
		p.Detail = clip(p.Detail, len(p.Detail)-max((len(text)-limit)/6, 1))
	}
}

func (e *StatusError) status() int {
	if e.Status < 400 || e.Status > 599 {
		return http.StatusInternalServerError
	}
	return e.Status
}

func (e *StatusError) title() string { return orDefault(e.Title, http.StatusText(e.status())) }

// response is the answer for the client.
func (e *StatusError) response() httpResponse {
	r := httpResponse{Status: e.status(), Headers: http.Header{"Content-Type": {problemType}}, Body: e.FailureMessage()}
	if e.RetryAfter > 0 {
		r.Headers.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	return r
}

// statusOf finds the StatusError in an error, which may have been stored by a
// call within the handler. It returns it with the error around it.
func statusOf(err error) (found *StatusError, ok bool) {
	_ = guarded(func() error { // a typed nil panics
		if found, ok = errors.AsType[*StatusError](err); ok && found == nil {
			ok = false
		} else if replayed, is := errors.AsType[*idempotent.ReplayedError](err); !ok && is {
			found, ok = storedStatus(replayed)
		}
		return nil
	})
	if !ok || error(found) == err {
		return found, ok
	}
	whole := *found
	whole.from = err
	return &whole, true
}

// storedStatus reads a StatusError that was stored. Of one whose message was
// shortened to find room, the status is left.
func storedStatus(stored *idempotent.ReplayedError) (*StatusError, bool) {
	if stored == nil || stored.Type != "StatusError" {
		return nil, false
	}
	number, ok := strings.CutPrefix(stored.Code, statusCode)
	status, err := strconv.Atoi(number)
	if !ok || err != nil || status < 400 || status > 599 {
		return nil, false
	}
	var p problemJSON
	if json.Unmarshal([]byte(stored.Message), &p) != nil || p.Status != status {
		p = problemJSON{}
	}
	return &StatusError{Status: status, Type: p.Type, Title: p.Title, Detail: p.Detail}, true
}

// clip cuts a text to at most so many bytes, and never within a character.
func clip(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	for limit > 0 && text[limit]&0xc0 == 0x80 {
		limit--
	}
	return text[:max(limit, 0)]
}
