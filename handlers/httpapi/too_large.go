package httpapi

import (
	"fmt"
	"net/http"

	"github.com/lambda-once/once/idempotent"
)

// RequestTooLargeError reports that the body of a request has more than
// Options.MaxRequestBytes. The handler did not run, and the client receives
// 413.
type RequestTooLargeError struct{ Limit int64 } // in bytes

func (e *RequestTooLargeError) Error() string {
	return fmt.Sprintf("httpapi: the request body has more than %d bytes", e.Limit)
}

// SafeText returns the whole text.
func (e *RequestTooLargeError) SafeText() string { return e.Error() }

// Refusal returns [idempotent.RefusalTooLarge].
func (e *RequestTooLargeError) Refusal() idempotent.Refusal { return idempotent.RefusalTooLarge }

// Unwrap returns an [*http.MaxBytesError].
func (e *RequestTooLargeError) Unwrap() error { return &http.MaxBytesError{Limit: e.Limit} }

// SafeText returns the whole text.
func (e *ResponseTooLargeError) SafeText() string { return e.Error() }
