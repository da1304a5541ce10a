package durablefunc

import (
	"errors"
	"fmt"
)

// ErrExecutionInput matches errors of type [*ExecutionInputError].
var ErrExecutionInput = errors.New("durablefunc: the input of the execution")

// ExecutionInputError reports that an input cannot be sent: it is not JSON, or it has
// more than the 1 MB (1,048,576 bytes) of an asynchronous invocation, or the 256 KiB
// (262,144 bytes) of Step Functions. No execution was started. Store a large input
// elsewhere, such as in S3, and send its place.
type ExecutionInputError struct {
	Size, Limit int // bytes
	NotJSON     bool
}

func (e *ExecutionInputError) Error() string {
	if e.NotJSON {
		return ErrExecutionInput.Error() + " is not JSON"
	}
	return fmt.Sprintf("%v has %d bytes, more than the %d that are possible; send the place of a stored object instead", ErrExecutionInput, e.Size, e.Limit)
}

// SafeText returns the whole text.
func (e *ExecutionInputError) SafeText() string { return e.Error() }

// Is reports whether target is ErrExecutionInput.
func (e *ExecutionInputError) Is(target error) bool { return target == ErrExecutionInput }

// ErrExecutionExists matches errors of type [*ExecutionExistsError].
var ErrExecutionExists = errors.New("durablefunc: an execution with this name exists")

// ExecutionExistsError reports that the service refused to start an execution,
// because its name exists: with a different input, of a durable function also in a
// different version (DurableExecutionAlreadyStartedException), or of a workflow that
// has ended (ExecutionAlreadyExists). No second execution was started.
//
// If KeyReused is true, the key was used for a different request: give this request a
// key of its own. Otherwise the record can also be a duplicate. Compare the input of the
// execution with the record, or use an [ExecutionReader], which does so.
type ExecutionExistsError struct {
	Name      string // of the execution
	KeyReused bool   // the inputs were compared, and differ
	Err       error  // of StartExecution
	ReadErr   error  // of ExecutionInput, which could not compare the inputs, or nil
}

func (e *ExecutionExistsError) Error() string {
	text := ErrExecutionExists.Error() + ": " + e.Name
	if e.KeyReused {
		return text + " has another input; the key was used for another request, so give this one a key of its own"
	}
	if e.ReadErr != nil {
		return text + ", and its input could not be read: " + e.ReadErr.Error()
	}
	return text + " has another input, or is one of another version of the function; compare its input with the record"
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
var ErrExpressWorkflow = errors.New("durablefunc: the state machine is an Express workflow, and every start of one runs it again")

// ExpressWorkflowError reports that the state machine is an Express workflow. Use a
// Standard one, which can run an Express one as a state.
type ExpressWorkflowError struct{}

func (e *ExpressWorkflowError) Error() string { return ErrExpressWorkflow.Error() }

// SafeText returns the whole text.
func (e *ExpressWorkflowError) SafeText() string { return e.Error() }

// Is reports whether target is ErrExpressWorkflow.
func (e *ExpressWorkflowError) Is(target error) bool { return target == ErrExpressWorkflow }
