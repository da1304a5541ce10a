package relay

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/handlers/internal/panics"
	"github.com/lambda-once/once/idempotent/driver"
)

// source is the name of the source in errors and logs.
const source = "outbox"

// relay publishes the messages of an event, round by round.
type relay struct {
	publish Publisher
	options Options // complete
	recent  *recent
}

// handle returns the record from which the stream must be delivered again, if there is
// one. The list is never nil, which would marshal as null.
func (r *relay) handle(ctx context.Context, stream []events.DynamoDBEventRecord) ([]events.DynamoDBBatchItemFailure, error) {
	if len(stream) == 0 {
		return nil, &handlers.NoRecordsError{Source: source, Record: -1}
	}
	items := make([]*item, len(stream))
	for i, r := range stream {
		if r.EventSource != "" && r.EventSource != "aws:dynamodb" {
			return nil, &handlers.NoRecordsError{Source: source, Record: i}
		}
		items[i] = readItem(r)
	}
	runner, calls := lanes.Runner{Concurrency: r.options.Concurrency, Errors: notRun}, ctx
	if deadline, ok := ctx.Deadline(); ok {
		lastStart, margin, left := lanes.LastStart(deadline, 0)
		if left <= margin {
			return nil, &handlers.MarginError{Source: source, Margin: margin, Left: left}
		}
		runner.LastStart = lastStart
		var cancel context.CancelFunc
		calls, cancel = context.WithDeadline(ctx, deadline.Add(-margin/2))
		defer cancel()
	}
	q := newQueue(items, notRun.AfterFailure, r.options.BatchSize, r.recent)
	e := event{relay: r, stream: stream, runner: runner, queue: q, calls: calls}
	for e.round(ctx) {
	}
	return e.report(ctx, q.results)
}

// event is one event that is being handled.
type event struct {
	*relay
	stream []events.DynamoDBEventRecord
	runner lanes.Runner
	queue  *queue
	// calls is the context of publish and Mark. It ends before the invocation: one that
	// times out is repeated as a whole, in a new process, which publishes all again.
	calls context.Context
}

// round publishes the next message of every aggregate. It reports whether there
// was one.
func (e *event) round(ctx context.Context) bool {
	batches, published := e.queue.round()
	failed := make([][]error, len(batches)) // of each message
	errs := e.runner.Run(e.calls, lanes.Schedule{}, len(batches), func(ctx context.Context, turn *lanes.Turn) error {
		i := turn.Index()
		return guarded(func() (err error) { failed[i], err = e.send(ctx, batches[i]); return err })
	})
	for i, b := range batches {
		published = append(published, e.queue.report(b, func(j int) error {
			if failed[i] != nil && failed[i][j] != nil {
				return readable(failed[i][j])
			}
			return readable(errs[i])
		})...)
	}
	e.markPublished(ctx, published)
	return len(batches) > 0
}

// send calls publish. It returns the error of each message, or nil, and an
// error for the messages without one of their own.
func (r *relay) send(ctx context.Context, b *batch) (failed []error, _ error) {
	failed, err := r.publish(ctx, b.destination, b.messages)
	switch {
	case len(failed) == len(b.messages):
		return failed, err
	case err == nil && failed != nil:
		return nil, &PublishError{Errors: len(failed), Messages: len(b.messages)}
	}
	return nil, err
}

// markPublished marks items. A failure does not stop the stream: delivering an
// item again would publish its messages again, and a table that cannot be
// written would stop all of them.
func (e *event) markPublished(ctx context.Context, published []int) {
	if len(published) == 0 || e.options.Mark == nil {
		return
	}
	keys := make([]driver.OutboxKey, len(published))
	for i, at := range published {
		keys[i] = e.queue.items[at].key
	}
	// Mark, as every function of the user's, runs on a goroutine of its own.
	errs := lanes.Runner{Concurrency: 1, Errors: notRun}.Run(e.calls, lanes.Schedule{}, 1, func(ctx context.Context, _ *lanes.Turn) error {
		return readable(guarded(func() error { return e.options.Mark(ctx, keys) }))
	})
	if errs[0] == nil {
		return
	}
	for i, at := range published {
		e.options.OnFailure(ctx, e.failure(at, &UnmarkedError{Key: keys[i], Err: errs[0]}))
	}
}

// report reports the first record that is not done, with which the stream begins
// again. A record without an id cannot be reported, and fails the invocation.
func (e *event) report(ctx context.Context, results []error) ([]events.DynamoDBBatchItemFailure, error) {
	all := &handlers.BatchError{Reason: "one of them has no id to report it by"}
	for i, err := range results {
		if err != nil {
			all.Failed = append(all.Failed, e.failure(i, err))
			e.options.OnFailure(ctx, e.failure(i, err))
		}
	}
	reported := []events.DynamoDBBatchItemFailure{}
	if all.Failed == nil {
		return reported, nil
	}
	for _, r := range e.stream {
		if r.Change.SequenceNumber == "" {
			return nil, all
		}
	}
	return append(reported, events.DynamoDBBatchItemFailure{ItemIdentifier: all.Failed[0].ID}), nil
}

func (e *event) failure(i int, err error) *handlers.RecordError {
	return &handlers.RecordError{Source: source, Index: i, ID: e.stream[i].Change.SequenceNumber, Err: err}
}

var notRun = lanes.Errors{
	OutOfTime:    &handlers.NotStartedError{Reason: lanes.OutOfTime},
	AfterFailure: &handlers.NotStartedError{Reason: lanes.AfterFailure},
	Unfinished:   &handlers.UnfinishedError{},
}

func guarded(call func() error) error {
	return panics.Catch(call, func(value any, stack []byte) error { return &handlers.PanicError{Value: value, Stack: stack} })
}

func readable(err error) error {
	if panics.Readable(err) {
		return err
	}
	return &handlers.UnreadableError{Type: fmt.Sprintf("%T", err)}
}
