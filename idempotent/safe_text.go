package idempotent

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lambda-once/once/idempotent/driver"
)

// A SafeError is an error that knows which text of it may be logged. All error
// types of Once are SafeErrors, and a handler's may be.
type SafeError interface {
	error
	// SafeText returns the text of the error without any part that quotes a key,
	// a payload, or an error of a handler.
	SafeText() string
}

// SafeText returns the text of err that may be logged: that of a [SafeError], of
// joined errors each, and of any other error its Go type. Observers and adapters
// that write logs use it.
func SafeText(err error) (text string) {
	defer func() {
		if recover() != nil { // of its methods, such as those of a typed nil
			text = fmt.Sprintf("%T", err)
		}
	}()
	switch e := err.(type) {
	case SafeError:
		return e.SafeText()
	case interface{ Unwrap() []error }:
		var texts []string
		for _, err := range e.Unwrap() {
			texts = append(texts, SafeText(err))
		}
		return strings.Join(texts, "; ")
	}
	if err == errPanicked {
		return err.Error()
	}
	return fmt.Sprintf("%T", err)
}

// textOfCommit returns why the outcome of a commit is unknown. The handler wrote
// the condition of a rejected attachment, so its text is treated as the
// handler's.
func textOfCommit(err error) string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var texts []string
		for _, err := range joined.Unwrap() {
			texts = append(texts, textOfCommit(err))
		}
		return strings.Join(texts, "; ")
	}
	if _, ok := errors.AsType[*driver.Rejected](err); ok {
		return SafeText(err)
	}
	return err.Error()
}
