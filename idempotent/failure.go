package idempotent

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Permanent marks an error of a handler as final: it is stored, and every
// later call with the key gets it back as a [*ReplayedError] without running
// the handler. The first call returns err itself. Other errors release the
// key, and a retry runs the handler again.
//
// What is stored is the error's type name, or that of its method ErrorType()
// string if it has one, its message (the first 4 KiB), or that of its method
// FailureMessage() string if it has one, and, if an error in its chain has a
// method ErrorCode() string, that code. Keep secrets out of messages, as from
// any log.
//
// A mark counts wherever it stands in the error's chain, but only for the
// innermost call that the error passes: not for a call around it whose handler
// passes the error on, provided that the inner call got the outer handler's
// context. An error that is marked as both is permanent.
//
// Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// Retryable marks an error of a handler as one after which nothing was done:
// the attempt does not count against Config.MaxAttempts. Use it for what fails
// before the first effect. The call returns err itself.
//
// Retryable(nil) is nil.
func Retryable(err error) error {
	if err == nil {
		return nil
	}
	return &retryableError{err}
}

// failure is the stored form of a permanent error: the Data of a FAILED record.
type failure struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
	// Compensated are the steps that were undone, in that order.
	Compensated []string `json:"compensated,omitempty"`
}

const (
	maxFailureMessage = 4 << 10
	maxFailureName    = 256 // of a type or a code
)

func describeFailure(err error) failure {
	// A message that panics is no reason to run the work again.
	f := failure{Type: typeName(bare(err))}
	f.describe(err)
	return f
}

func (f *failure) describe(err error) {
	defer func() {
		if p := recover(); p != nil {
			f.Message = "the error has no message: its method panicked"
		}
	}()
	f.Message = truncate(err.Error(), maxFailureMessage)
	if public, ok := bare(err).(interface{ FailureMessage() string }); ok {
		f.Message = truncate(public.FailureMessage(), maxFailureMessage)
	}
	if named, ok := bare(err).(interface{ ErrorType() string }); ok {
		f.Type = truncate(named.ErrorType(), maxFailureName)
	}
	if coded, ok := errors.AsType[interface {
		error
		ErrorCode() string
	}](err); ok {
		f.Code = truncate(coded.ErrorCode(), maxFailureName)
	}
}

// Encode is the stored form of the error, for tools that settle a record by
// hand: the Data of a record whose Status is [driver.Failed].
func (e *ReplayedError) Encode() ([]byte, error) {
	return json.Marshal(failure{
		Type:    truncate(e.Type, maxFailureName),
		Message: truncate(e.Message, maxFailureMessage),
		Code:    truncate(e.Code, maxFailureName),

		Compensated: e.Compensated,
	})
}

func decodeFailure(data []byte) (*ReplayedError, error) {
	var f failure
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	return &ReplayedError{Type: f.Type, Message: f.Message, Code: f.Code, Compensated: f.Compensated}, nil
}

// typeName is the name under which aws-lambda-go reports an error.
func typeName(err error) string {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

func truncate(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
