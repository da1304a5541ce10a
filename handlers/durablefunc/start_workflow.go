package durablefunc

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// A WorkflowClient calls Step Functions, by means of package sfn of the AWS SDK, which
// this package does not link. The page on durable functions shows one. Its methods
// return the errors of the SDK, which they may wrap.
type WorkflowClient interface {
	// StartExecution calls StartExecution, and returns the ExecutionArn.
	StartExecution(ctx context.Context, stateMachine, name, input string) (execution string, err error)
	// ExecutionInput calls DescribeExecution, and returns the Input.
	ExecutionInput(ctx context.Context, execution string) (string, error)
}

// maxWorkflowInput is the limit of Step Functions, in bytes of UTF-8.
const maxWorkflowInput = 256 << 10

// StartWorkflow returns a function that starts a Standard workflow of AWS Step
// Functions: an execution of the state machine with this ARN, which may end with a
// version or an alias. It does not wait for the end. Pass it to [Dispatch], or call it
// within any protected handler.
//
// Names, inputs and errors are as in [StartExecution], except that:
//
//   - The service starts no second execution under a name until 90 days after the end
//     of the first, even if that failed. To continue a failed one, redrive it.
//   - It refuses the name of an execution that has ended, or that has a different input,
//     so the input is always read and compared.
//   - An input has at most 256 KiB, and equal inputs may be spelled differently.
//   - It does not recognize the names of Express workflows. A client learns from the
//     first answer that it has started one: StartWorkflow returns an
//     [*ExpressWorkflowError], which is permanent, and starts no further one in this
//     process.
//
// StartWorkflow panics with a [*driver.ConfigError] if the client is nil, if the ARN
// is not that of a state machine, or if D needs an input.
func StartWorkflow[D any](client WorkflowClient, stateMachine string, input func(D) ([]byte, error)) func(context.Context, D) error {
	var mistakes driver.Mistakes
	mistakes.If(client == nil, "durablefunc: StartWorkflow: the client is nil")
	mistakes.If(workflowExecution(stateMachine, "name") == "", "durablefunc: StartWorkflow: %q is not the ARN of a state machine", stateMachine)
	var express atomic.Bool
	return each(&starter{
		limit: maxWorkflowInput, exists: "ExecutionAlreadyExists",
		start: func(ctx context.Context, name string, input []byte) error {
			if express.Load() {
				return idempotent.Permanent(&ExpressWorkflowError{})
			}
			execution, err := client.StartExecution(ctx, stateMachine, name, string(input))
			if err == nil && strings.Contains(execution, ":express:") {
				express.Store(true)
				return idempotent.Permanent(&ExpressWorkflowError{})
			}
			return err
		},
		read: func(ctx context.Context, name string) ([]byte, error) {
			first, err := client.ExecutionInput(ctx, workflowExecution(stateMachine, name))
			return []byte(first), err
		},
	}, "StartWorkflow", input, mistakes)
}

// workflowExecution returns the ARN of the execution with a name, or "" if the ARN of the
// state machine is not one. An execution's ARN has neither version nor alias.
func workflowExecution(stateMachine, name string) string {
	const service, resource, machine = 2, 5, 6
	parts := strings.Split(stateMachine, ":")
	if len(parts) <= machine || parts[0] != "arn" || parts[service] != "states" || parts[resource] != "stateMachine" {
		return ""
	}
	return strings.Join(append(parts[:resource:resource], "execution", parts[machine], name), ":")
}
