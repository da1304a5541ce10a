package idempotent

import (
	"errors"
	"fmt"
)

// The sentinels of the errors below.
var (
	ErrCompensation = errors.New("idempotent: compensation failed")
	ErrStep         = errors.New("idempotent: step refused")
)

// StepError says that a [Step] was used in a way that it cannot be. Its
// function was not called. The handler's code has to change.
type StepError struct {
	Step   string
	Reason string
}

func (e *StepError) Error() string {
	return fmt.Sprintf("idempotent: the step %q was not run: %s", e.Step, e.Reason)
}

// Is reports whether target is ErrStep.
func (e *StepError) Is(target error) bool { return target == ErrStep }

// CompensationError says that a call has failed for good, and that the steps
// it had finished are not all undone (see [SagaStep]). Retry: the retry goes
// on undoing. With Config.MaxAttempts, an [*OutcomeUnknownError] says when a
// person has to.
type CompensationError struct {
	KeyHash string
	Step    string // that could not be undone
	Err     error  // why
	Cause   error  // what the call had failed with
}

func (e *CompensationError) Error() string {
	return fmt.Sprintf("idempotent: the call with this key (%s) failed for good, and its step %q is not undone; retry to go on: %v", short(e.KeyHash), e.Step, e.Err)
}

// Is reports whether target is ErrCompensation.
func (e *CompensationError) Is(target error) bool { return target == ErrCompensation }

// Unwrap gives why the step is not undone. Cause is not among the errors found
// in it: it is final, and this one is not.
func (e *CompensationError) Unwrap() error { return e.Err }
