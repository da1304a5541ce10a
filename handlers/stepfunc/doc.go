// Package stepfunc starts workflows of AWS Step Functions, one for each key:
//
//	start := stepfunc.StartExecution[handlers.SQSMessage[Order]](client, stateMachine, nil)
//	lambda.Start(stepfunc.Dispatch("pay", handlers.SQS, orderID, start, nil))
//
// [StartExecution] starts each execution under a name that is derived from its key, so
// that the service recognizes duplicates. It does so for Standard workflows alone.
package stepfunc

import (
	"context"

	"github.com/lambda-once/once/handlers/internal/executions"
	"github.com/lambda-once/once/idempotent"
)

// Dispatch returns the handler of a dispatcher: a function that starts one execution
// of a state machine for each record of a source.
//
// The source is a function of package handlers, such as handlers.SQS, SNS,
// EventBridge or Kinesis; key and o are its parameters. It needs no table. The service
// knows the name of an execution for 90 days after its end, which is longer than any
// queue delivers. To store records in the dispatcher as well, pass the function of
// [StartExecution] to the source itself.
//
// Executions run at the same time. The order of a FIFO queue or a stream is that of
// the starts.
//
// Dispatch panics with an [*driver.ConfigError] if the operation is invalid.
func Dispatch[D, O, H any](
	operation string,
	source func(*idempotent.Executor, func(D) (idempotent.Key, error), func(context.Context, D) error, O) H,
	key func(D) (idempotent.Key, error), start func(context.Context, D) error, o O,
) H {
	return executions.Dispatch(operation, source, key, start, o)
}

// ExecutionName returns the name of the execution that [StartExecution] starts for
// a key. Tools use it to find the execution.
func ExecutionName(operation string, key idempotent.Key) (string, error) {
	return executions.Name(operation, key)
}
