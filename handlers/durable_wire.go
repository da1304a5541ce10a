package handlers

import (
	"encoding/json"
	"errors"
	"math"
	"time"
)

// The statuses with which an invocation of a durable function answers.
const (
	durablePending   = "PENDING"
	durableSucceeded = "SUCCEEDED"
	durableFailed    = "FAILED"
)

// ErrDurableRequest matches errors of type [*DurableRequestError].
var ErrDurableRequest = errors.New("handlers: not an invocation of a durable function")

// DurableRequestError reports that an invocation of a [Durable] function is not
// one that the service for durable executions makes. The function did not run.
// Set its DurableConfig, and invoke a version or an alias.
type DurableRequestError struct {
	Reason string
	Err    error // of the JSON, or nil
}

func (e *DurableRequestError) Error() string { return ErrDurableRequest.Error() + ": " + e.Reason }

// SafeText returns the whole text.
func (e *DurableRequestError) SafeText() string { return e.Error() }

// Is reports whether target is ErrDurableRequest.
func (e *DurableRequestError) Is(target error) bool { return target == ErrDurableRequest }

// Unwrap returns Err.
func (e *DurableRequestError) Unwrap() error { return e.Err }

// ErrDurableResponse matches errors of type [*DurableResponseError].
var ErrDurableResponse = errors.New("handlers: the durable function's response")

// DurableResponseError reports that a durable function has answered with what
// is none of PENDING, SUCCEEDED and FAILED. The key stays claimed, because
// nobody can tell whether the execution continues. An Observer also receives one
// for a result that is not stored, because the response does not contain it.
type DurableResponseError struct {
	Reason string
	Err    error // of the JSON, or nil
}

func (e *DurableResponseError) Error() string { return ErrDurableResponse.Error() + " " + e.Reason }

// SafeText returns the whole text.
func (e *DurableResponseError) SafeText() string { return e.Error() }

// Is reports whether target is ErrDurableResponse.
func (e *DurableResponseError) Is(target error) bool { return target == ErrDurableResponse }

// Unwrap returns Err.
func (e *DurableResponseError) Unwrap() error { return e.Err }

// durableTime is a time in milliseconds, or as text. A time that is neither is the
// zero time.
type durableTime time.Time

var firstDurableYear = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

func (t *durableTime) UnmarshalJSON(text []byte) error {
	var milliseconds float64
	var at time.Time
	if json.Unmarshal(text, &milliseconds) == nil && milliseconds < math.MaxInt64/2 {
		at = time.UnixMilli(int64(milliseconds))
	} else if json.Unmarshal(text, &at) != nil {
		at = time.Time{}
	}
	*t = durableTime(at)
	return nil
}

// plausible returns the zero time for one from before there were durable functions.
// Taken literally, it would end the lease at once.
func plausible(at time.Time) time.Time {
	if at.Before(firstDurableYear) {
		return time.Time{}
	}
	return at
}

// durableResponse is a response of the durable function, as it was written.
type durableResponse struct {
	text   []byte
	status string
	// elsewhere: the result was too large for a response, and only the
	// execution's own history has it.
	elsewhere bool
}

func readResponse(text []byte) (durableResponse, error) {
	var r struct {
		Status string
		Result *string
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return durableResponse{}, &DurableResponseError{"is not the JSON of one", err}
	}
	switch r.Status {
	case durablePending, durableSucceeded, durableFailed:
		return durableResponse{text, r.Status, r.Result != nil && *r.Result == ""}, nil
	}
	return durableResponse{}, &DurableResponseError{"has a status that is none of PENDING, SUCCEEDED and FAILED", nil}
}

var errElsewhere = &DurableResponseError{"has no result: it is only in the history of the execution, because it is too large", nil}

// MarshalJSON is called for the record.
func (r durableResponse) MarshalJSON() ([]byte, error) {
	if r.elsewhere {
		return nil, errElsewhere
	}
	return r.text, nil
}

// UnmarshalJSON refuses a result that another kind of handler has stored.
func (r *durableResponse) UnmarshalJSON(text []byte) (err error) {
	*r, err = readResponse(append([]byte(nil), text...))
	if err == nil && r.status != durableSucceeded {
		err = &DurableResponseError{"was stored by another kind of handler: its status is not SUCCEEDED", nil}
	}
	return err
}
