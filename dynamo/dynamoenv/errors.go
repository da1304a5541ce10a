package dynamoenv

import (
	"errors"
	"fmt"
)

// ErrNotSet is the sentinel of [*NotSetError], for errors.Is.
var ErrNotSet = errors.New("dynamoenv: not set")

// NotSetError reports that the environment lacks a variable.
type NotSetError struct{ Variable string }

func (e *NotSetError) Error() string {
	if e.Variable == TableVariable {
		return fmt.Sprintf("dynamoenv: %s is not set; set it to the name or ARN of the table of the records, as infra.NewIdempotentFunction and template.yaml do", e.Variable)
	}
	return fmt.Sprintf("dynamoenv: %s is not set, and no other source of the SDK's names a Region; set it (Lambda does)", e.Variable)
}

// SafeText returns the whole text.
func (e *NotSetError) SafeText() string { return e.Error() }

// Is reports whether target is ErrNotSet.
func (e *NotSetError) Is(target error) bool { return target == ErrNotSet }
