package dynamo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/lambda-once/once/idempotent/driver"
)

// Error is a call to DynamoDB that failed. It is [driver.ErrUnavailable]
// when the call did not reach DynamoDB or found it too busy, and
// [driver.ErrThrottled] as well when DynamoDB throttled it. It is
// [driver.ErrTooLarge] when an item would exceed DynamoDB's limit. Its text
// holds no keys and no data.
type Error struct {
	Op    string // the call, such as "PutItem"
	Table string // the store's
	// Tables are all that a transaction names: those of the record, of the
	// handler's writes and checks, and the outbox, sorted. nil for other calls.
	Tables []string
	Advice string // what to do about it; "" where that is not known
	Err    error  // from the SDK, or about a stored item

	unavailable, throttled bool
	notWritten             bool
}

func (e *Error) Error() string {
	on := fmt.Sprintf("table %q", e.Table)
	switch len(e.Tables) {
	case 0:
	case 1:
		on = fmt.Sprintf("table %q", e.Tables[0])
	default:
		on = fmt.Sprintf("tables %q", e.Tables)
	}
	if e.Advice == "" {
		return fmt.Sprintf("dynamo: %s on %s: %v", e.Op, on, e.Err)
	}
	return fmt.Sprintf("dynamo: %s on %s: %s: %v", e.Op, on, e.Advice, e.Err)
}

// Unwrap gives Err.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is [driver.ErrUnavailable] and the store
// could not be reached or was too busy, or [driver.ErrThrottled] and it
// was throttled.
func (e *Error) Is(target error) bool {
	switch target {
	case driver.ErrUnavailable:
		return e.unavailable
	case driver.ErrThrottled:
		return e.throttled
	case driver.ErrNotWritten:
		return e.notWritten
	case driver.ErrTooLarge:
		return errors.Is(e.Err, errItemSize) || tooLarge(e.Err)
	}
	return false
}

// refused is the error of a call that was not sent, as the table could not hold
// what it asks for.
func (s *Store) refused(op string, err error) error {
	return &Error{Op: op, Table: s.table, Err: err}
}

func (s *Store) fail(op string, err error) error {
	unavailable := isUnavailable(err)
	return &Error{
		Op: op, Table: s.table, Err: err, Advice: s.layout.advice(err),
		unavailable: unavailable, throttled: unavailable && throttled(err),
	}
}

// isUnavailable tells the way to DynamoDB and its load from its refusals,
// which would be the same again.
func isUnavailable(err error) bool {
	// The caller gave up, or there are no credentials: neither says anything
	// about the store, whatever the search for credentials met.
	if errors.Is(err, context.Canceled) || noIdentity(err) {
		return false
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	if code, _ := apiError(err); code != "" {
		return throttled(err) || serverFault(err)
	}
	var send *smithyhttp.RequestSendError
	var network net.Error
	var quota ratelimit.QuotaExceededError
	return errors.As(err, &send) || errors.As(err, &network) || errors.As(err, &quota) || serverFault(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func throttled(err error) bool {
	if status(err) == http.StatusTooManyRequests {
		return true
	}
	return retry.ThrottleErrorCode{Codes: retry.DefaultThrottleErrorCodes}.IsErrorThrottle(err).Bool()
}

func serverFault(err error) bool {
	if status(err) >= 500 {
		return true
	}
	switch code, _ := apiError(err); code {
	case "InternalServerError", "InternalFailure", "ServiceUnavailable", "ServiceUnavailableException",
		"RequestTimeout", "RequestTimeoutException":
		return true
	}
	return false
}

// status is the HTTP status of the answer, 0 where there was none.
func status(err error) int {
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) {
		return answer.HTTPStatusCode()
	}
	return 0
}

// apiError is the code and message that DynamoDB answered, if it did.
func apiError(err error) (code, message string) {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode(), api.ErrorMessage()
	}
	return "", ""
}

// noIdentity recognises the SDK's failure to get credentials, which has no
// type of its own and may wrap an answer of another service.
func noIdentity(err error) bool { return strings.Contains(err.Error(), "get identity: ") }

func conditionFailed(err error) bool {
	var failed *types.ConditionalCheckFailedException
	return errors.As(err, &failed)
}

// keySchema recognises refusals of a key, which have no code of their own.
func keySchema(message string) bool {
	for _, part := range []string{"does not match the schema", "Missing the key", "Type mismatch for key", "number of conditions on the keys",
		"required keys was not given" /* DynamoDB Local */} {
		if strings.Contains(message, part) {
			return true
		}
	}
	return false
}
