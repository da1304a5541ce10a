// Package fault tells the errors of calls to DynamoDB apart, and has advice for each.
package fault

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Unavailable reports whether a call did not reach DynamoDB, or found it too
// busy. A refusal would be the same again.
func Unavailable(err error) bool {
	// The caller gave up, or there are no credentials: neither says anything
	// about the store, whatever the search for credentials met.
	if errors.Is(err, context.Canceled) || noIdentity(err) {
		return false
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	if code, _ := Code(err); code != "" {
		return Throttled(err) || Server(err)
	}
	var send *smithyhttp.RequestSendError
	var network net.Error
	var quota ratelimit.QuotaExceededError
	return errors.As(err, &send) || errors.As(err, &network) || errors.As(err, &quota) || Server(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// Throttled reports whether DynamoDB throttled a call.
func Throttled(err error) bool {
	if Status(err) == http.StatusTooManyRequests {
		return true
	}
	return retry.ThrottleErrorCode{Codes: retry.DefaultThrottleErrorCodes}.IsErrorThrottle(err).Bool()
}

// Server reports whether DynamoDB failed to serve a call.
func Server(err error) bool {
	if Status(err) >= 500 {
		return true
	}
	code, _ := Code(err)
	return slices.Contains([]string{"InternalServerError", "InternalFailure", "ServiceUnavailable", "ServiceUnavailableException",
		"RequestTimeout", "RequestTimeoutException"}, code)
}

// Status returns the HTTP status of the response, or 0 if there was none.
func Status(err error) int {
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return answer.HTTPStatusCode()
	}
	return 0
}

// Code returns the code and message of DynamoDB's response, if there was one.
func Code(err error) (code, message string) {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode(), api.ErrorMessage()
	}
	return "", ""
}

// Denied reports whether DynamoDB denied a call to an identity that it knows.
func Denied(err error) bool {
	code, _ := Code(err)
	return (code == "AccessDeniedException" || code == "AccessDenied") && !noIdentity(err)
}

// noIdentity recognizes the SDK's failure to get credentials, which has no
// type of its own and may wrap a response of the service that has them.
func noIdentity(err error) bool { return strings.Contains(err.Error(), "get identity: ") }

// ConditionFailed returns the failure of a write's condition, or nil if err is none.
func ConditionFailed(err error) (failed *types.ConditionalCheckFailedException) {
	errors.As(err, &failed)
	return failed
}

// Conflict reports whether a write was refused because a transaction, or a write in
// a different Region, was changing its item. The SDK retries neither.
func Conflict(err error) bool {
	var inTransaction *types.TransactionConflictException
	var inOtherRegion *types.ReplicatedWriteConflictException
	return errors.As(err, &inTransaction) || errors.As(err, &inOtherRegion)
}

// KeySchema reports whether a message refuses a key. Such refusals have no code
// of their own.
func KeySchema(message string) bool {
	return slices.ContainsFunc([]string{"does not match the schema", "Missing the key", "Type mismatch for key",
		"number of conditions on the keys", "required keys was not given" /* DynamoDB Local */}, func(part string) bool {
		return strings.Contains(message, part)
	})
}

// TooLarge reports whether DynamoDB refused an item for its size, which has no
// code of its own. The estimate before a write does not know the attributes that
// further programs have added.
func TooLarge(err error) bool {
	code, message := Code(err)
	return code == "ValidationException" && TooLargeMessage(message)
}

// TooLargeMessage reports whether a message refuses an item for its size.
func TooLargeMessage(message string) bool {
	return strings.Contains(message, "exceeded the maximum allowed size")
}

// NoMap reports whether DynamoDB refused a path into an absent map, which has
// no code of its own.
func NoMap(err error) bool {
	code, message := Code(err)
	return code == "ValidationException" && strings.Contains(message, "document path")
}
