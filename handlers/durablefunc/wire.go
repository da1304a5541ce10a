package durablefunc

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// The statuses with which an invocation of a durable function answers.
const (
	pending   = "PENDING"
	succeeded = "SUCCEEDED"
	failed    = "FAILED"
)

// ErrRequest matches errors of type [*RequestError].
var ErrRequest = errors.New("durablefunc: not an invocation of a durable function")

// RequestError reports that an invocation of a [Wrap] function is not
// one that the service for durable executions makes. The function did not run.
// Set its DurableConfig, and invoke a version or an alias.
type RequestError struct {
	Reason string
	Err    error // of the JSON, or nil
}

func (e *RequestError) Error() string { return ErrRequest.Error() + ": " + e.Reason }

// SafeText returns the whole text.
func (e *RequestError) SafeText() string { return e.Error() }

// Is reports whether target is ErrRequest.
func (e *RequestError) Is(target error) bool { return target == ErrRequest }

// Unwrap returns Err.
func (e *RequestError) Unwrap() error { return e.Err }

// ErrResponse matches errors of type [*ResponseError].
var ErrResponse = errors.New("durablefunc: the durable function's response")

// ResponseError reports that a durable function returned a response
// whose status is none of PENDING, SUCCEEDED and FAILED. The key stays claimed, because
// the execution may continue. An Observer also receives one
// for a result that is not stored, because the response does not contain it.
type ResponseError struct {
	Reason string
	Err    error // of the JSON, [driver.ErrTooLarge], or nil
}

func (e *ResponseError) Error() string { return ErrResponse.Error() + " " + e.Reason }

// SafeText returns the whole text.
func (e *ResponseError) SafeText() string { return e.Error() }

// Is reports whether target is ErrResponse.
func (e *ResponseError) Is(target error) bool { return target == ErrResponse }

// Unwrap returns Err.
func (e *ResponseError) Unwrap() error { return e.Err }

// timestamp is a time in milliseconds, or as text. A time that is neither is the
// zero time.
type timestamp time.Time

var firstYear = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

func (t *timestamp) UnmarshalJSON(text []byte) error {
	var milliseconds float64
	var at time.Time
	if json.Unmarshal(text, &milliseconds) == nil && milliseconds < math.MaxInt64/2 {
		at = time.UnixMilli(int64(milliseconds))
	} else if json.Unmarshal(text, &at) != nil {
		at = time.Time{}
	}
	*t = timestamp(at)
	return nil
}

// plausible returns the zero time for one from before there were durable functions.
// Taken literally, it would end the lease at once.
func plausible(at time.Time) time.Time {
	if at.Before(firstYear) {
		return time.Time{}
	}
	return at
}

// response is a response of the durable function, as it was written.
type response struct {
	text   []byte
	status string
	// elsewhere: the result was too large for a response, and only the
	// execution's own history has it.
	elsewhere bool
}

func readResponse(text []byte) (response, error) {
	var r struct {
		Status string
		Result *string
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return response{}, &ResponseError{"is not the JSON of one", err}
	}
	switch r.Status {
	case pending, succeeded, failed:
		return response{text, r.Status, r.Result != nil && *r.Result == ""}, nil
	}
	return response{}, &ResponseError{"has a status that is none of PENDING, SUCCEEDED and FAILED", nil}
}

var errElsewhere = &ResponseError{"has no result: it is only in the history of the execution, because it is too large", driver.ErrTooLarge}

// MarshalJSON is called for the record.
func (r response) MarshalJSON() ([]byte, error) {
	if r.elsewhere {
		return nil, errElsewhere
	}
	return r.text, nil
}

// UnmarshalJSON refuses a result that a different kind of handler has stored.
func (r *response) UnmarshalJSON(text []byte) (err error) {
	*r, err = readResponse(append([]byte(nil), text...))
	if err == nil && r.status != succeeded {
		err = &ResponseError{"was stored by another kind of handler: its status is not SUCCEEDED", nil}
	}
	return err
}
