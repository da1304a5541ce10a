// Package lambdaerror keeps the type under which Lambda reports an error, in the
// first call and in every repetition.
package lambdaerror

import (
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/lambda-once/once/handlers/internal/panics"
	"github.com/lambda-once/once/idempotent"
)

// A NamedError carries the type that a messages.InvokeResponse_Error names through
// the core, which would otherwise store its Go type.
type NamedError struct {
	Err   error // as the handler returned it
	Named messages.InvokeResponse_Error
}

func (e *NamedError) Error() string { return e.Named.Message }

// SafeText returns the type alone: the handler wrote the message.
func (e *NamedError) SafeText() string { return fmt.Sprintf("%T", e) }

// Unwrap returns Err.
func (e *NamedError) Unwrap() error { return e.Err }

// ErrorType returns the type that the error names. See [idempotent.Permanent].
func (e *NamedError) ErrorType() string { return e.Named.Type }

// Named returns a handler's error as the core receives it.
func Named(err error) error {
	var e messages.InvokeResponse_Error
	found := false
	panics.Ignore(func() { found = errors.As(err, &e) })
	if !found {
		return err
	}
	return &NamedError{err, e}
}

// Reported returns an error in the form in which Lambda reports its type. Lambda
// considers only the outermost error.
func Reported(err error) error {
	switch e := err.(type) {
	case *NamedError:
		return e.Named
	case *idempotent.ReplayedError:
		if e != nil {
			return messages.InvokeResponse_Error{Type: e.Type, Message: e.Message}
		}
	}
	return err
}
