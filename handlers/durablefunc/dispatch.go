package durablefunc

import (
	"cmp"
	"context"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// Dispatch returns the handler of a dispatcher: an ordinary function that starts
// one execution of a durable function, or of a workflow, for each record of a source.
//
//	start := durablefunc.StartExecution[handlers.SQSMessage[Order]](client, nil)
//	lambda.Start(durablefunc.Dispatch("pay", handlers.SQS, orderID, start, nil))
//
// The source is a function of package handlers, such as handlers.SQS, SNS,
// EventBridge or Kinesis; key and o are its parameters. It decodes, determines
// keys and reports failures as ever, but it needs no table: the service recognizes
// duplicates by the name of the execution. The protection lasts as long as the
// service keeps that name. For a durable function it keeps the execution's history,
// so set the RetentionPeriodInDays longer than the source may deliver, or protect the
// function with [Wrap], too. Step Functions keeps a name for 90 days after the end. To
// store records in the dispatcher instead, pass the function of [StartExecution] or
// [StartWorkflow] to the source itself.
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
	key func(D) (idempotent.Key, error), start func(context.Context, D) error, o O,
) H {
	// There are no records to keep: the retention keeps sources from warning of it.
	x, err := idempotent.New(operation, unrecorded{}, &idempotent.Config{Retention: 28 * 24 * time.Hour})
	if err != nil {
		panic(err)
	}
	return source(x, key, start, o)
}

// unrecorded is a store that stores nothing: every claim and every change succeeds.
type unrecorded struct{}

// Create returns r as if it had been written.
func (unrecorded) Create(_ context.Context, r driver.Record, _ time.Time, _ any) (driver.Record, bool, error) {
	return r, true, nil
}

// Change returns the record that f names as if c had been applied to it.
func (unrecorded) Change(_ context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	return driver.Record{
		ID: f.ID, Owner: cmp.Or(c.Owner, f.Owner), Attempt: f.Attempt, Status: cmp.Or(c.Status, driver.InProgress),
		Lease: c.Lease, Expires: c.Expires, Fingerprint: c.Fingerprint, Data: c.Data, Payload: c.Payload, Unavailable: c.Unavailable,
	}, true, nil
}

// Get returns no record.
func (unrecorded) Get(context.Context, string) (driver.Record, error) { return driver.Record{}, nil }
