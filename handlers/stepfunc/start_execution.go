package stepfunc

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/lambda-once/once/handlers/internal/executions"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/canonical"
)

// A Client calls Step Functions, by means of package sfn of the AWS SDK, which this
// package does not link. The page on durable functions shows one. Its methods return
// the errors of the SDK, which they may wrap.
type Client interface {
	// StartExecution calls StartExecution, and returns the ExecutionArn.
	StartExecution(ctx context.Context, stateMachine, name, input string) (execution string, err error)
	// ExecutionInput calls DescribeExecution, and returns the Input.
	ExecutionInput(ctx context.Context, execution string) (string, error)
}

// maxInput is the limit of the service, in bytes of UTF-8.
const maxInput = 256 << 10

// StartExecution returns a function that starts an execution of the state machine with
// this ARN, which may end with a version or an alias, and does not wait for its end.
// Pass it to [Dispatch], or call it within any protected handler.
//
// The name of the execution is the SHA-256 of the record's id, so every delivery of a
// record starts it under one name. The service starts no second execution of a
// Standard workflow under a name until 90 days after the end of the first, even if that
// failed. To continue a failed one, redrive it.
//
// The input must be the same JSON at each delivery, so it is the body of the record
// unless there is a function for it. A record that is no [handlers.Delivery] needs one.
//
// The service refuses the name of an execution that has ended, or that has a different
// input. StartExecution then asks for its input. The same one is that of a duplicate,
// which counts as started; for a different one it returns an [*ExecutionExistsError].
// An input of more than 256 KiB is refused with an [*ExecutionInputError].
//
// The service does not recognize the names of Express workflows. A client learns from
// the first answer that it has started one: StartExecution returns an
// [*ExpressWorkflowError], and starts no further one in this process.
//
// No retry of these three succeeds, so they are [idempotent.Permanent]. All other
// errors are those of the client, and the next delivery tries again.
//
// StartExecution panics with a [*driver.ConfigError] if the client is nil, if the ARN
// is not that of a state machine, or if D needs an input.
func StartExecution[D any](client Client, stateMachine string, input func(D) ([]byte, error)) func(context.Context, D) error {
	s := &starter{client: client, stateMachine: stateMachine}
	var mistakes driver.Mistakes
	mistakes.If(client == nil, "stepfunc: StartExecution: the client is nil")
	mistakes.If(s.execution("name") == "", "stepfunc: StartExecution: %q is not the ARN of a state machine", stateMachine)
	return executions.Start(&mistakes, "stepfunc: StartExecution", input, s.start)
}

type starter struct {
	client       Client
	stateMachine string
	express      atomic.Bool
}

func (s *starter) start(ctx context.Context, name string, input []byte) error {
	switch {
	case s.express.Load():
		return idempotent.Permanent(&ExpressWorkflowError{})
	case len(input) > maxInput:
		return idempotent.Permanent(&ExecutionInputError{Size: len(input)})
	case !json.Valid(input):
		return idempotent.Permanent(&ExecutionInputError{Size: len(input), NotJSON: true})
	}
	execution, err := s.client.StartExecution(ctx, s.stateMachine, name, string(input))
	if err == nil && strings.Contains(execution, ":express:") {
		s.express.Store(true)
		return idempotent.Permanent(&ExpressWorkflowError{})
	}
	var coded interface{ ErrorCode() string }
	if !errors.As(err, &coded) || coded.ErrorCode() != "ExecutionAlreadyExists" {
		return err
	}
	first, readErr := s.client.ExecutionInput(ctx, s.execution(name))
	exists := &ExecutionExistsError{Name: name, Err: err, ReadErr: readErr}
	switch {
	case readErr != nil:
		return exists // the next delivery may learn more
	case canonical.Equal([]byte(first), input): // an equal body may be spelled differently
		return nil
	}
	return idempotent.Permanent(exists)
}

// execution returns the ARN of the execution with a name, or "" if the ARN of the state
// machine is not one. An execution's ARN has neither version nor alias.
func (s *starter) execution(name string) string {
	const service, resource, machine = 2, 5, 6
	parts := strings.Split(s.stateMachine, ":")
	if len(parts) <= machine || parts[0] != "arn" || parts[service] != "states" || parts[resource] != "stateMachine" {
		return ""
	}
	return strings.Join(append(parts[:resource:resource], "execution", parts[machine], name), ":")
}
