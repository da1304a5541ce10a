package httpapi

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/form"
)

const problemContentType = "application/problem+json"

// noType is the type of a problem without documentation.
const noType = "about:blank"

// A problem is a response of Once itself (RFC 9457). It contains neither the key nor
// anything of the body.
type problem struct {
	status     int
	title      string // more specific than the status
	detail     string
	retryAfter int // seconds; 0: no such header
	// section is the fragment of the Documentation that explains a problem with a type of
	// its own, or "".
	section string
	noStore bool // no cache may store it, which its status would allow
}

// response returns the problem as a response. For the type about:blank, RFC 9457
// requires the status's title.
func (p problem) response(documentation string) httpResponse {
	if documentation == noType {
		p.title = http.StatusText(p.status)
	}
	kind := documentation
	if p.section != "" && documentation != noType {
		page, _, _ := strings.Cut(documentation, "#")
		kind = page + "#" + p.section
	}
	headers := http.Header{"Content-Type": {problemContentType}}
	if p.noStore {
		headers.Set("Cache-Control", "no-store")
	}
	if p.retryAfter > 0 {
		headers.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	return httpResponse{Status: p.status, Headers: headers, Body: details{kind, p.title, p.status, p.detail}.encode()}
}

// details are the body of a problem.
type details struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
}

func (d details) encode() string {
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // texts always marshal
	}
	return string(text)
}

// encodeWithin returns the JSON text with as much of Detail as fits into limit
// bytes. Decoding and encoding the text again returns the same bytes.
func (d details) encodeWithin(limit int) string {
	// json.Marshal writes an escape for bytes that are not UTF-8, and none for the
	// character that the escape is decoded to.
	d.Detail = strings.ToValidUTF8(d.Detail, "\uFFFD")
	for {
		text := d.encode()
		if len(text) <= limit {
			return text
		}
		// Escapes take up to six bytes for one.
		d.Detail = form.Truncate(d.Detail, len(d.Detail)-max((len(text)-limit)/6, 1))
	}
}

// problemOf returns the problem for an error of the core, with the status and the title
// of draft-ietf-httpapi-idempotency-key-header-07 section 2.7, where it has one. It
// reports false for an error on which a client cannot act.
func (o *Options) problemOf(err error) (p problem, ok bool) {
	key, theKey, aKey := "idempotency key", "The idempotency key", "an idempotency key"
	if o.Key == nil {
		key, theKey, aKey = o.Header, "The header "+o.Header, "the header "+o.Header
	}
	title := strings.ToUpper(key[:1]) + key[1:]
	switch e := err.(type) {
	case *idempotent.MissingKeyError:
		if e.Part == "scope" {
			return noScope, true
		}
		if o.Key != nil && e.At != "" {
			aKey += ", which is taken from " + e.At + " of the request"
		}
		return problem{status: http.StatusBadRequest, title: title + " is missing",
			detail: "This operation requires " + aKey + ": another key for each request, and the same one when a request is repeated."}, true
	case *idempotent.InvalidKeyError:
		if e.Part == "Scope" {
			return noScope, true
		}
		return problem{status: http.StatusBadRequest, title: title + " is not valid", detail: theKey + " " + e.Reason + "."}, true
	case *idempotent.InvalidPayloadError:
		return problem{status: http.StatusBadRequest, title: "The request cannot be read",
			detail: "The request cannot be read: " + e.Reason + "."}, true
	case *RequestTooLargeError:
		return problem{status: http.StatusRequestEntityTooLarge, title: "The body is too large",
			detail: "The body has more than " + strconv.FormatInt(e.Limit, 10) + " bytes."}, true
	case *idempotent.InProgressError:
		return outstanding(retryAfter(e.Until), key), true
	case *idempotent.LeaseLostError:
		return outstanding(1, key), true
	case *idempotent.KeyExpiredError:
		return problem{status: http.StatusGone, title: title + " is too old", section: "key-expired", noStore: true,
			detail: "This " + key + " is too old to know whether the request was carried out. Check, and send it with a new key if it was not."}, true
	case *idempotent.KeyReusedError:
		return problem{status: http.StatusUnprocessableEntity, title: title + " is already used",
			detail: "This " + key + " was used for another request. Each request needs a key of its own."}, true
	case *idempotent.OutcomeUnknownError, *idempotent.KeyForgottenError:
		return problem{status: http.StatusInternalServerError, title: "The outcome is unknown",
			detail: "Whether this request was carried out is unknown. It does not run again before a person has looked into it. Do not send it with another key."}, true
	case *idempotent.ResultUnavailableError:
		lost := "is not available"
		if e.Reason == driver.Redacted {
			lost = "has been deleted"
		}
		if e.Failed {
			return problem{status: http.StatusInternalServerError, title: "The response is not available",
				detail: "This request failed permanently, and its response " + lost + ". Do not send it with another key before a person has looked into it."}, true
		}
		return problem{status: http.StatusInternalServerError, title: "The response is not available",
			detail: "This request was carried out, but its response " + lost + ". Do not send it with another key."}, true
	case *idempotent.CompensationError:
		return problem{status: http.StatusServiceUnavailable, title: "The request failed and is being undone", retryAfter: 1,
			detail: "The request failed, and its effects are not undone yet. Send it again, with the same " + key + "."}, true
	case *idempotent.StoreError:
		return problem{status: http.StatusServiceUnavailable, title: "Try again", retryAfter: 1,
			detail: "The request cannot be answered now. Send it again, with the same " + key + "."}, true
	}
	return problem{}, false
}

var noScope = problem{status: http.StatusForbidden, title: "The caller is unknown",
	detail: "The request does not identify its caller in the way that this operation requires."}

// internalProblem replaces an error that would tell a client nothing, if there is no
// Lambda to report it to.
var internalProblem = problem{status: http.StatusInternalServerError, title: "The request failed",
	detail: "The request failed."}

// responseLost replaces a response whose work is done.
var responseLost = problem{status: http.StatusInternalServerError, title: "The response is lost",
	detail: "This request was carried out, but its response was too large to be stored, or was cut off. Do not send it with another key."}

// tooLarge replaces a response that is not stored.
func tooLarge(status int) problem {
	return problem{status: status, title: responseLost.title, detail: "The response was too large to be passed on."}
}

// noStatus replaces a response with a status that no response can have.
func noStatus(status int) problem {
	return problem{status: http.StatusInternalServerError, title: "The response has no status",
		detail: "This request was carried out, but the handler's response has the StatusCode " + strconv.Itoa(status) + ", which is no HTTP status. Do not send the request with another key."}
}

func outstanding(retryAfter int, key string) problem {
	return problem{status: http.StatusConflict, title: "A request is outstanding for this " + key, retryAfter: retryAfter,
		detail: "A request with this " + key + " is being processed. Send it again, with the same key, to get its response."}
}

// retryAfter is short: the other call most likely finishes long before its
// lease expires.
func retryAfter(lease time.Time) int {
	return int(min(max(math.Ceil(time.Until(lease).Seconds()), 1), 2))
}
