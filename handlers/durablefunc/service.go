package durablefunc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
)

// Options are the options of [Wrap]. The zero value of every field stands
// for its default, and a nil *Options for all of them.
type Options struct {
	// Service asks the service for durable executions. It is asked before an execution
	// takes over the claim of an earlier one, after the end of that claim:
	//
	//	the other execution runs or is paused   the claim stays: an [*idempotent.InProgressError]
	//	has succeeded                           its result is stored and replayed. If the service no
	//	                                        longer has it: an [*idempotent.OutcomeUnknownError]
	//	has failed, timed out or been stopped   the claim is taken over
	//	is unknown to the service               the claim is taken over
	//	the call fails                          the claim stays: an [*idempotent.InProgressError],
	//	                                        whose Err is a [*ServiceError]
	//
	// It is also asked about an event that is not on the first page of the execution's
	// operations. The ARN of the execution, which contains its name, is stored in the
	// owner of the claim. While the record is in progress, it expires a year later.
	//
	// Default nil: the claim is taken over when it ends, also that of a paused
	// execution. The same holds for a claim that was made without the option.
	Service Service
}

// A Service is the service for durable executions, as [Wrap] uses it. A few
// lines around the Lambda client of the AWS SDK implement it; see the page on durable
// functions. The role of the function needs lambda:GetDurableExecution and
// lambda:GetDurableExecutionState. The client is one of the function's Region.
//
// Each method returns the error of the client as it is, or wraps it: Wrap recognizes
// a ResourceNotFoundException by a method ErrorCode, which errors of the AWS SDK have.
type Service interface {
	// GetDurableExecution returns the state and the result of an execution.
	GetDurableExecution(ctx context.Context, arn string) (Execution, error)
	// GetDurableExecutionState returns the page of an execution's operations at the
	// marker. The token is that of the invocation, which the call does not use up.
	GetDurableExecutionState(ctx context.Context, arn, checkpointToken, marker string) (State, error)
}

// Execution is the state of an execution, and its result.
type Execution struct {
	Status string // RUNNING, SUCCEEDED, FAILED, TIMED_OUT or STOPPED; any other one is taken for RUNNING
	Result string // the JSON text of one that succeeded, or "" if the service does not have it
}

// State is a page of the operations of an execution.
type State struct {
	Operations []Operation
	NextMarker string // of the next page, or "" for the last one
}

// Operation is an operation of an execution.
type Operation struct {
	Type           string
	StartTimestamp time.Time
	InputPayload   string // of the ExecutionDetails, if the type is EXECUTION
}

// ErrService matches errors of type [*ServiceError].
var ErrService = errors.New("durablefunc: the service for durable executions")

// ServiceError reports that a call of a [Service] failed. A retry may
// succeed. If the call was denied, grant it to the role of the function.
type ServiceError struct {
	Op  string // the name of the call
	Err error
}

func (e *ServiceError) Error() string {
	return fmt.Sprintf("%v: lambda:%s failed: %v", ErrService, e.Op, e.Err)
}

// SafeText returns the text with the type of Err alone: the text of AWS names the
// execution, whose name the program has chosen.
func (e *ServiceError) SafeText() string {
	return fmt.Sprintf("%v: lambda:%s failed: %s", ErrService, e.Op, idempotent.SafeText(e.Err))
}

// Is reports whether target is ErrService.
func (e *ServiceError) Is(target error) bool { return target == ErrService }

// Unwrap returns Err.
func (e *ServiceError) Unwrap() error { return e.Err }

// optionalService is the service, or nothing.
type optionalService struct{ Service }

// ask asks about an execution.
func (s optionalService) ask(ctx context.Context, arn string) (adapter.ExecutionState, []byte, error) {
	e, err := s.GetDurableExecution(ctx, arn)
	var coded interface{ ErrorCode() string }
	switch {
	case errors.As(err, &coded) && coded.ErrorCode() == "ResourceNotFoundException":
		return adapter.ExecutionEnded, nil, nil
	case err != nil:
		return adapter.ExecutionActive, nil, &ServiceError{"GetDurableExecution", err}
	}
	switch e.Status {
	case "FAILED", "TIMED_OUT", "STOPPED":
		return adapter.ExecutionEnded, nil, nil
	case succeeded:
		if e.Result == "" {
			return adapter.ExecutionSucceeded, nil, nil
		}
		response, err := json.Marshal(struct{ Status, Result string }{succeeded, e.Result})
		return adapter.ExecutionSucceeded, response, err
	}
	return adapter.ExecutionActive, nil, nil
}
