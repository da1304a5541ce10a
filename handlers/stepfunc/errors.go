package stepfunc

import (
	"errors"
	"fmt"
)

// ErrExecutionInput matches errors of type [*ExecutionInputError].
var ErrExecutionInput = errors.New("stepfunc: the input of the execution")

// ExecutionInputError reports that an input cannot be sent: it has more than 256 KiB
// (262,144 bytes), or it is not JSON. No execution was started. Store a large input
// elsewhere, such as in S3, and send its place.
type ExecutionInputError struct {
	Size    int // bytes
	NotJSON bool
}

func (e *ExecutionInputError) Error() string {
	if e.NotJSON {
		return ErrExecutionInput.Error() + " is not JSON"
	}
	return fmt.Sprintf("%v has %d bytes, more than the %d of Step Functions; send the place of a stored object instead", ErrExecutionInput, e.Size, maxInput)
}

// SafeText returns the whole text.
func (e *ExecutionInputError) SafeText() string { return e.Error() }

// Is reports whether target is ErrExecutionInput.
func (e *ExecutionInputError) Is(target error) bool { return target == ErrExecutionInput }

// ErrExecutionExists matches errors of type [*ExecutionExistsError].
var ErrExecutionExists = errors.New("stepfunc: an execution with this name exists")

// ExecutionExistsError reports that the service refused to start an execution, because
// its name exists (ExecutionAlreadyExists). No second execution was started. Without a
// ReadErr, the first one has a different input: the key was used for a different
// request, so give this request a key of its own.
type ExecutionExistsError struct {
	Name    string // of the execution
	Err     error  // of StartExecution
	ReadErr error  // of ExecutionInput, which could not compare the inputs, or nil
}

func (e *ExecutionExistsError) Error() string {
	text := ErrExecutionExists.Error() + ": " + e.Name
	if e.ReadErr != nil {
		return text + ", and its input could not be read: " + e.ReadErr.Error()
	}
	return text + " has another input; the key was used for another request, so give this one a key of its own"
}

// SafeText returns the whole text. The name is a hash, and the errors are those of
// the client of AWS.
func (e *ExecutionExistsError) SafeText() string { return e.Error() }

// Is reports whether target is ErrExecutionExists.
func (e *ExecutionExistsError) Is(target error) bool { return target == ErrExecutionExists }

// Unwrap returns Err, and ReadErr if there is one.
func (e *ExecutionExistsError) Unwrap() []error {
	if e.ReadErr == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.ReadErr}
}

// ErrExpressWorkflow matches errors of type [*ExpressWorkflowError].
var ErrExpressWorkflow = errors.New("stepfunc: the state machine is an Express workflow, and every start of one runs it again")

// ExpressWorkflowError reports that the state machine is an Express workflow. Use a
// Standard one, which can run an Express one as a state.
type ExpressWorkflowError struct{}

func (e *ExpressWorkflowError) Error() string { return ErrExpressWorkflow.Error() }

// SafeText returns the whole text.
func (e *ExpressWorkflowError) SafeText() string { return e.Error() }

// Is reports whether target is ErrExpressWorkflow.
func (e *ExpressWorkflowError) Is(target error) bool { return target == ErrExpressWorkflow }
