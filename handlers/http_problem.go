package handlers

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/lambda-once/once/idempotent"
)

// httpProblem is an answer of ours: problem details as in RFC 9457. It is
// never stored, with one exception (see Middleware), and holds neither the key
// nor anything of the body.
type httpProblem struct {
	status     int
	title      string // says more than the status does
	detail     string
	retryAfter int // seconds; 0: no such header
}

// problem is what the client gets for an error of the core. Statuses and
// titles are those of draft-ietf-httpapi-idempotency-key-header-07 section
// 2.7, where it has one. Not ok, err is none that a client could act on.
func (o *HTTPOptions) problem(err error) (p httpProblem, ok bool) {
	switch e := err.(type) {
	case *idempotent.MissingKeyError:
		if e.Part == "scope" {
			return noScope, true
		}
		return httpProblem{status: http.StatusBadRequest, title: o.keyTitle() + " is missing",
			detail: "This operation requires " + o.aKey() + ": another key for each request, and the same one when a request is repeated."}, true
	case *idempotent.InvalidKeyError:
		if e.Part == "Scope" {
			return noScope, true
		}
		return httpProblem{status: http.StatusBadRequest, title: o.keyTitle() + " is not valid",
			detail: o.theKey() + " " + e.Reason + "."}, true
	case *idempotent.InvalidPayloadError:
		return httpProblem{status: http.StatusBadRequest, title: "The request cannot be read",
			detail: "The request cannot be read: " + e.Reason + "."}, true
	case *http.MaxBytesError:
		return httpProblem{status: http.StatusRequestEntityTooLarge, title: "The body is too large",
			detail: "The body has more than " + strconv.FormatInt(e.Limit, 10) + " bytes."}, true
	case *idempotent.InProgressError:
		return outstanding(retryAfter(e.Until), o.keyName()), true
	case *idempotent.LeaseLostError:
		return outstanding(1, o.keyName()), true
	case *idempotent.KeyReusedError:
		return httpProblem{status: http.StatusUnprocessableEntity, title: o.keyTitle() + " is already used",
			detail: "This " + o.keyName() + " was used for another request. Each request needs a key of its own."}, true
	case *idempotent.OutcomeUnknownError:
		return httpProblem{status: http.StatusInternalServerError, title: "The outcome is not known",
			detail: "Whether this request was carried out is not known, and it is not tried again before it was looked into. Do not send it with another key."}, true
	case *idempotent.ResultUnavailableError:
		if e.Failed {
			return httpProblem{status: http.StatusInternalServerError, title: "The answer is not available",
				detail: "This request failed for good, and its answer cannot be given. Do not send it with another key before it was looked into."}, true
		}
		return httpProblem{status: http.StatusInternalServerError, title: "The answer is not available",
			detail: "This request was carried out, but its answer cannot be given. Do not send it with another key."}, true
	case *idempotent.CompensationError:
		return httpProblem{status: http.StatusServiceUnavailable, title: "The request failed and is being undone", retryAfter: 1,
			detail: "The request failed, and what it had done is not undone yet. Send it again, with the same " + o.keyName() + "."}, true
	case *idempotent.StoreError:
		return httpProblem{status: http.StatusServiceUnavailable, title: "Try again", retryAfter: 1,
			detail: "The request cannot be answered now. Send it again, with the same " + o.keyName() + "."}, true
	}
	return httpProblem{}, false
}

var noScope = httpProblem{status: http.StatusForbidden, title: "The caller is not known",
	detail: "Nothing in the request identifies its caller in the way that this operation requires."}

// internal is for errors that tell a client nothing, where there is no Lambda
// to report them to.
var internal = httpProblem{status: http.StatusInternalServerError, title: "The request failed",
	detail: "The request failed."}

// How a problem names the key, or its place.
func (o *HTTPOptions) keyName() string {
	if o.Key != nil {
		return "idempotency key"
	}
	return o.Header
}

func (o *HTTPOptions) keyTitle() string {
	if o.Key != nil {
		return "Idempotency key"
	}
	return o.Header
}

func (o *HTTPOptions) theKey() string {
	if o.Key != nil {
		return "The idempotency key"
	}
	return "The header " + o.Header
}

func (o *HTTPOptions) aKey() string {
	if o.Key != nil {
		return "an idempotency key"
	}
	return "the header " + o.Header
}

func outstanding(retryAfter int, header string) httpProblem {
	return httpProblem{status: http.StatusConflict, title: "A request is outstanding for this " + header, retryAfter: retryAfter,
		detail: "A request with this " + header + " is being processed. Send it again, with the same key, to get its answer."}
}

// retryAfter is short: the other call most likely ends long before its lease.
func retryAfter(lease time.Time) int {
	if lease.IsZero() {
		return 1
	}
	return int(min(max(math.Ceil(time.Until(lease).Seconds()), 1), 2))
}

// response is the problem as an answer. Without a documentation of its own it
// has the type about:blank, for which RFC 9457 asks for the status's title.
func (p httpProblem) response(documentation string) httpResponse {
	if documentation == "about:blank" {
		p.title = http.StatusText(p.status)
	}
	body := problemJSON{documentation, p.title, p.status, p.detail}.encode()
	headers := http.Header{"Content-Type": {problemType}}
	if p.retryAfter > 0 {
		headers.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	return httpResponse{Status: p.status, Headers: headers, Body: body}
}

const problemType = "application/problem+json"

// problemJSON is the form of a problem in RFC 9457.
type problemJSON struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
}

func (p problemJSON) encode() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts always marshal
	}
	return string(text)
}
