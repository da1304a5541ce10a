package durablefunc

import (
	"context"

	"github.com/lambda-once/once/handlers/internal/executions"
	"github.com/lambda-once/once/idempotent"
)

// Dispatch returns the handler of a dispatcher: an ordinary function that starts
// one execution of a durable function for each record of a source.
//
//	start := durablefunc.StartExecution[handlers.SQSMessage[Order]](client, nil)
//	lambda.Start(durablefunc.Dispatch("pay", handlers.SQS, orderID, start, nil))
//
// The source is a function of package handlers, such as handlers.SQS, SNS,
// EventBridge or Kinesis; key and o are its parameters. It decodes, determines
// keys and reports failures as ever, but it needs no table: the service recognizes
// duplicates by the name of the execution. The protection lasts as long as the
// service keeps the execution's history, so set the RetentionPeriodInDays of the
// durable function longer than the source may deliver. For longer, protect the
// durable function with [Wrap], too. To store records in the dispatcher instead,
// pass the function of [StartExecution] to the source itself.
//
// Keys with the same operation and ID have the same name in every source and every
// stage. AWS documents names as unique in a function, and elsewhere as unique in an
// account and Region, so use one operation for each durable function and stage.
//
// Executions run at the same time. The order of a FIFO queue or a stream is that of
// the starts.
//
// Dispatch panics with an [*driver.ConfigError] if the operation is invalid.
func Dispatch[D, O, H any](
	operation string,
	source func(*idempotent.Executor, func(D) (idempotent.Key, error), func(context.Context, D) error, O) H,
	key func(D) (idempotent.Key, error), start ExecutionStart[D], o O,
) H {
	return executions.Dispatch(operation, source, key, start, o)
}
