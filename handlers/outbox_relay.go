package handlers

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/handlers/internal/outbox"
	"github.com/lambda-once/once/idempotent/outbound"
)

// outboxRelay publishes the messages of an event, round by round.
type outboxRelay struct {
	*batch[*outbox.Item]
	publish func(context.Context, string, []outbound.Message) ([]error, error)
	size    int
	mark    func(context.Context, []OutboxKey) error
	recent  *outbox.Recent
}

// handle returns the id of the record from which the stream must be delivered
// again, if there is one.
func (relay *outboxRelay) handle(ctx context.Context, stream []events.DynamoDBEventRecord) (ids []string, _ error) {
	v, err := relay.begin(ctx, len(stream), func(i int) record[*outbox.Item] { return readItem(stream[i]) })
	if err != nil {
		return nil, err
	}
	records := make([]outbox.Record, len(v.records))
	for i, r := range v.records {
		if !r.skip {
			records[i] = outbox.Record{Item: r.delivery, Err: r.err}
		}
	}
	q := outbox.NewQueue(records, errAfterFailure, relay.size, relay.recent)
	for relay.round(ctx, v, q) {
	}
	for i, err := range q.Results() {
		if err != nil {
			v.policy.recordFailed(ctx, v.recordError(i, err))
		}
	}
	return v.firstID(q.Results())
}

// readItem decodes a record of the stream.
func readItem(r events.DynamoDBEventRecord) record[*outbox.Item] {
	item := outbox.NewItem(r)
	read := record[*outbox.Item]{
		id: r.Change.SequenceNumber, eventSource: r.EventSource, delivery: item, skip: !outbox.Pending(r),
	}
	if !read.skip {
		read.err = guarded(func() error {
			if err := item.Decode(r.Change.NewImage); err != nil {
				return &DecodeError{Type: "an item of an outbox", Err: &ShapeError{err.Error()}}
			}
			return nil
		})
	}
	return read
}

// round publishes the next message of every aggregate. It reports whether there
// was one.
func (relay *outboxRelay) round(ctx context.Context, v *invocation[*outbox.Item], q *outbox.Queue) bool {
	batches, published := q.Round()
	failed := make([][]error, len(batches)) // of each message
	runner := lanes.Runner{Concurrency: relay.policy.concurrency, LastStart: v.lastStart, Errors: notRun}
	errs := runner.Run(ctx, lanes.Schedule{Lanes: lanes.Separate(len(batches))}, len(batches), func(ctx context.Context, turn *lanes.Turn) error {
		i := turn.Index()
		return guarded(func() (err error) { failed[i], err = relay.send(ctx, batches[i]); return err })
	})
	for i, b := range batches {
		published = append(published, q.Settle(b, func(j int) error {
			if failed[i] != nil && failed[i][j] != nil {
				return readable(failed[i][j])
			}
			return readable(errs[i])
		})...)
	}
	relay.markPublished(ctx, v, published)
	return len(batches) > 0
}

// send calls publish. It returns the error of each message, or nil, and an
// error for the messages without one of their own.
func (relay *outboxRelay) send(ctx context.Context, b *outbox.Batch) (failed []error, _ error) {
	for _, m := range b.Messages {
		if m.Attributes[ChainAttribute] == "" {
			m.Attributes[ChainAttribute] = m.ID
		}
	}
	failed, err := relay.publish(ctx, b.Destination, b.Messages)
	switch {
	case len(failed) == len(b.Messages):
		return failed, err
	case err == nil && failed != nil:
		return nil, &PublishError{Errors: len(failed), Messages: len(b.Messages)}
	}
	return nil, err
}

// markPublished marks items. A failure does not stop the stream: delivering an
// item again would publish its messages again, and a table that cannot be
// written would stop all of them.
func (relay *outboxRelay) markPublished(ctx context.Context, v *invocation[*outbox.Item], published []int) {
	if len(published) == 0 || relay.mark == nil {
		return
	}
	keys := make([]OutboxKey, len(published))
	for i, at := range published {
		keys[i] = OutboxKey(v.records[at].delivery.Key)
	}
	// Mark, as every function of the user's, runs on a goroutine of its own.
	errs := lanes.Runner{Concurrency: 1, Errors: notRun}.Run(ctx, lanes.Schedule{Lanes: lanes.Separate(1)}, 1, func(ctx context.Context, _ *lanes.Turn) error {
		return readable(guarded(func() error { return relay.mark(ctx, keys) }))
	})
	if errs[0] == nil {
		return
	}
	for i, at := range published {
		v.policy.recordFailed(ctx, v.recordError(at, &UnmarkedError{Key: keys[i], Err: errs[0]}))
	}
}
