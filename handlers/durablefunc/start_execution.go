package durablefunc

import (
	"context"

	"github.com/lambda-once/once/idempotent/driver"
)

// An ExecutionStarter starts executions of one durable function, by means of
// package lambda of the AWS SDK. The page on durable functions shows one.
type ExecutionStarter interface {
	// StartExecution calls Invoke for an alias or a version of the function, with
	// the InvocationType Event, the DurableExecutionName name and the Payload
	// input. It returns the error of the SDK, which it may wrap.
	StartExecution(ctx context.Context, name string, input []byte) error
}

// An ExecutionReader is an [ExecutionStarter] that also reads the input of an
// execution. With it, [StartExecution] distinguishes a duplicate from a key that
// was used for a different request.
type ExecutionReader interface {
	ExecutionStarter

	// ExecutionInput returns the input of the execution with a name: it calls
	// ListDurableExecutionsByFunction for the unqualified function, and
	// GetDurableExecution. It returns an error if there is no such execution.
	ExecutionInput(ctx context.Context, name string) ([]byte, error)
}

// maxExecutionInput is the limit of Lambda for asynchronous invocations: 1 MB.
const maxExecutionInput = 1 << 20

// StartExecution returns a function that starts the execution of a durable
// function and does not wait for its end. It is for work that takes longer than a
// source waits: 15 min for queues and streams, 30 s for an HTTP API. Pass it to
// [Dispatch], or call it within any protected handler.
//
// The name of the execution is the SHA-256 of the record's id, so every delivery
// of a record starts it under one name. The service starts no second execution
// under a name while it keeps the history of the first: until its end, and then
// for the RetentionPeriodInDays of the function's DurableConfig. This holds for
// an execution that failed, too: to repeat its work, invoke the function without a
// name.
//
// The function receives the input as its event. It must be the same bytes
// at each delivery, so send the body of a record, not the delivery with its
// receive count. With a nil input, the body is sent as it arrived. A body that
// the handler takes as string or []byte is sent as the JSON of this type. A
// record that is no [handlers.Delivery] needs an input.
//
// An input of more than 1 MB is refused with an [*ExecutionInputError]. A name
// that exists with a different input, or in a different version of the function, is
// refused with an [*ExecutionExistsError]; if the client is an [ExecutionReader],
// and the input is the same, the record is a duplicate and counts as started. No
// retry of these two succeeds, so they are [idempotent.Permanent]. All other
// errors are those of the client, and the next delivery tries again.
//
// StartExecution panics with a [*driver.ConfigError] if the client is nil, or if D
// needs an input.
func StartExecution[D any](client ExecutionStarter, input func(D) ([]byte, error)) func(context.Context, D) error {
	var mistakes driver.Mistakes
	mistakes.If(client == nil, "durablefunc: StartExecution: the client is nil")
	s := &starter{limit: maxExecutionInput, exists: "DurableExecutionAlreadyStartedException"}
	if client != nil {
		s.start = client.StartExecution
	}
	if reader, ok := client.(ExecutionReader); ok {
		s.read = reader.ExecutionInput
	}
	return each(s, "StartExecution", input, mistakes)
}
