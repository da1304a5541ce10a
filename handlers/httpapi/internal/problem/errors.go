package problem

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lambda-once/once/idempotent"
)

// Of returns the problem for an error of the core. It reports false for an error
// on which a client cannot act. header is the name of the key's header, or ""
// if the key is elsewhere. Statuses and titles are those of
// draft-ietf-httpapi-idempotency-key-header-07 section 2.7, where it has one.
func Of(err error, header string) (p Problem, ok bool) {
	key, theKey, aKey := header, "The header "+header, "the header "+header
	if header == "" {
		key, theKey, aKey = "idempotency key", "The idempotency key", "an idempotency key"
	}
	title := strings.ToUpper(key[:1]) + key[1:]
	switch e := err.(type) {
	case *idempotent.MissingKeyError:
		if e.Part == "scope" {
			return noScope, true
		}
		if header == "" && e.At != "" {
			aKey += ", which is taken from " + e.At + " of the request"
		}
		return Problem{Status: http.StatusBadRequest, Title: title + " is missing",
			Detail: "This operation requires " + aKey + ": another key for each request, and the same one when a request is repeated."}, true
	case *idempotent.InvalidKeyError:
		if e.Part == "Scope" {
			return noScope, true
		}
		return Problem{Status: http.StatusBadRequest, Title: title + " is not valid", Detail: theKey + " " + e.Reason + "."}, true
	case *idempotent.InvalidPayloadError:
		return Problem{Status: http.StatusBadRequest, Title: "The request cannot be read",
			Detail: "The request cannot be read: " + e.Reason + "."}, true
	case *http.MaxBytesError:
		return Problem{Status: http.StatusRequestEntityTooLarge, Title: "The body is too large",
			Detail: "The body has more than " + strconv.FormatInt(e.Limit, 10) + " bytes."}, true
	case *idempotent.InProgressError:
		return outstanding(retryAfter(e.Until), key), true
	case *idempotent.LeaseLostError:
		return outstanding(1, key), true
	case *idempotent.KeyReusedError:
		return Problem{Status: http.StatusUnprocessableEntity, Title: title + " is already used",
			Detail: "This " + key + " was used for another request. Each request needs a key of its own."}, true
	case *idempotent.OutcomeUnknownError:
		return Problem{Status: http.StatusInternalServerError, Title: "The outcome is unknown",
			Detail: "Whether this request was carried out is unknown. It does not run again before a person has looked into it. Do not send it with another key."}, true
	case *idempotent.ResultUnavailableError:
		if e.Failed {
			return Problem{Status: http.StatusInternalServerError, Title: "The response is not available",
				Detail: "This request failed permanently, and its response is not available. Do not send it with another key before a person has looked into it."}, true
		}
		return Problem{Status: http.StatusInternalServerError, Title: "The response is not available",
			Detail: "This request was carried out, but its response is not available. Do not send it with another key."}, true
	case *idempotent.CompensationError:
		return Problem{Status: http.StatusServiceUnavailable, Title: "The request failed and is being undone", RetryAfter: 1,
			Detail: "The request failed, and its effects are not undone yet. Send it again, with the same " + key + "."}, true
	case *idempotent.StoreError:
		return Problem{Status: http.StatusServiceUnavailable, Title: "Try again", RetryAfter: 1,
			Detail: "The request cannot be answered now. Send it again, with the same " + key + "."}, true
	}
	return Problem{}, false
}

var noScope = Problem{Status: http.StatusForbidden, Title: "The caller is unknown",
	Detail: "The request does not identify its caller in the way that this operation requires."}

// Internal replaces an error that would tell a client nothing, if there is no
// Lambda to report it to.
var Internal = Problem{Status: http.StatusInternalServerError, Title: "The request failed",
	Detail: "The request failed."}

// ResponseLost replaces a response whose work is done.
var ResponseLost = Problem{Status: http.StatusInternalServerError, Title: "The response is lost",
	Detail: "This request was carried out, but its response was too large to be stored, or was cut off. Do not send it with another key."}

// TooLarge replaces a response that is not stored.
func TooLarge(status int) Problem {
	return Problem{Status: status, Title: ResponseLost.Title, Detail: "The response was too large to be passed on."}
}

// NoStatus replaces a response with a status that no response can have.
func NoStatus(status int) Problem {
	return Problem{Status: http.StatusInternalServerError, Title: "The response has no status",
		Detail: "This request was carried out, but the handler's response has the StatusCode " + strconv.Itoa(status) + ", which is no HTTP status. Do not send the request with another key."}
}

func outstanding(retryAfter int, key string) Problem {
	return Problem{Status: http.StatusConflict, Title: "A request is outstanding for this " + key, RetryAfter: retryAfter,
		Detail: "A request with this " + key + " is being processed. Send it again, with the same key, to get its response."}
}

// retryAfter is short: the other call most likely finishes long before its
// lease expires.
func retryAfter(lease time.Time) int {
	if lease.IsZero() {
		return 1
	}
	return int(min(max(math.Ceil(time.Until(lease).Seconds()), 1), 2))
}
