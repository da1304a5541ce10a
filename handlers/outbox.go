package handlers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// OutboxMessage is a message that a transaction has left in the outbox, as
// dynamo.Tx.Publish does.
type OutboxMessage struct {
	// ID is the message's own, the same whenever it is published: up to 128
	// letters, digits and '-', as the deduplication id of a FIFO queue takes.
	ID string
	// Aggregate is what the messages of one thing have in common, which go
	// out in order: the message group id of a FIFO queue, where it is one.
	Aggregate   string
	Destination string
	Type        string
	Body        []byte
	// Attributes are the producer's, and [ChainAttribute]: the ID, unless the
	// producer has set one. They have to go with the message, so that it has
	// its effects once where it arrives.
	Attributes map[string]string
}

// OutboxKey names what one transaction has written for an aggregate: the key of
// an item of the outbox, and when it was written. A call that is made once more
// writes over its item, and only Created tells the two apart.
type OutboxKey struct {
	Aggregate, ID string
	Created       time.Time // in UTC, to the millisecond
}

// OutboxOptions holds the options of [OutboxRelay]. The zero value of every
// field stands for its default, and a nil *OutboxOptions for all of them.
type OutboxOptions struct {
	// BatchSize is how many messages publish gets at a time, at most. Default
	// 10, the most that SQS, SNS and EventBridge take in one call.
	BatchSize int

	// Concurrency is how many calls of publish run at once. Default 1.
	Concurrency int

	// HideErrorText hides the text of errors that publish and Mark return in
	// the line that OnFailure writes by default: it has their type instead.
	// Default false.
	HideErrorText bool

	// Margin is the time left of the invocation below which publish is not
	// called any more. Set it to more than the slowest call takes. A Margin
	// that leaves no room for a call fails the invocation with a
	// [*MarginError]. Default 1 s, and at most half of the invocation's time.
	Margin time.Duration

	// Mark notes in the table that items are published, so that they expire:
	// outbox.Outbox.Mark for each, whose outbox.ErrNotFound is no failure.
	// It is called after all messages of an item are out, never before. It must
	// not mark one that has another time of creation than Created: that was
	// written over since, and its messages may not be out. An item that it
	// fails for is published, and not tried again: OnFailure is told with an
	// [*UnmarkedError], and the item stays in the table until somebody looks,
	// as a search for pending items does. Default: nothing is marked, and
	// nothing expires.
	Mark func(context.Context, []OutboxKey) error

	// OnFailure is told of every record that is not done, when the batch has
	// ended, and of every item that is not marked. It must not panic.
	// Default: a line on [slog.Default] with the error's text, in one line and
	// cut after 1 KiB, and the stack of a panic.
	OnFailure func(context.Context, *RecordError)
}

// OutboxRelay handles the stream of an outbox: it publishes what transactions
// have left there. The table's stream has new images, and its event source
// mapping ReportBatchItemFailures; a bounded number of retries, or one item
// that cannot be published blocks its shard for a day. What is given up stays
// in the table, unmarked.
//
// publish gets messages of one destination. It answers with an error for all
// of them, or with a list of one error for each message, nil where it is out;
// a nil list says that all are. It must be safe for concurrent use if
// Concurrency is more than 1, and may be given messages again: with their IDs.
//
// Messages of one aggregate go out in their order, whatever the destination: a
// message is only published when all before it are. So there is never more
// than one of an aggregate in a batch: where the first of two fails, the
// second would have overtaken it. Batches are filled from different
// aggregates, which do not wait for each other: a failure holds its own
// aggregate up, and no other in the same event.
//
// The record of the first item that is not out is reported, and what follows it
// comes again, also what is published already. Messages that this process has
// published are not published again, as far as it remembers (the last 10,000).
// For all others the receiver has to know their ID: a FIFO queue does for 5
// minutes, and [SQS] with the chain key for as long as it keeps its records.
//
// Items that are written, or written over, are published. Those that have the
// attribute published are not, and removals mean nothing. An item that is not
// laid out as Once does it fails for itself and its aggregate.
//
// OutboxRelay panics if publish is nil, or an option negative.
func OutboxRelay(publish func(ctx context.Context, destination string, batch []OutboxMessage) (failed []error, err error), o *OutboxOptions) func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	if o == nil {
		o = &OutboxOptions{}
	}
	switch {
	case publish == nil:
		panic("handlers: outbox: the publishing function is nil")
	case o.BatchSize < 0:
		panic(fmt.Sprintf("handlers: outbox: the option BatchSize is %d", o.BatchSize))
	}
	relay := &outboxRelay{
		batch: &batch[*outboxItem]{
			source: source{"outbox", []string{"aws:dynamodb"}, true},
			policy: newPolicy("outbox", o.Concurrency, o.Margin, 0, 0, o.OnFailure, o.HideErrorText),
		},
		publish: publish, size: orDefault(o.BatchSize, 10), mark: o.Mark, recent: newRecent(10_000),
	}
	return func(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		v, err := relay.begin(ctx, len(event.Records), func(i int) record[*outboxItem] { return readOutbox(event.Records[i]) })
		if err != nil {
			return events.DynamoDBEventResponse{}, err
		}
		at, err := relay.handle(ctx, v)
		if err != nil {
			return events.DynamoDBEventResponse{}, err
		}
		failures := []events.DynamoDBBatchItemFailure{} // a nil one marshals as null
		if at >= 0 {
			failures = append(failures, events.DynamoDBBatchItemFailure{ItemIdentifier: v.records[at].id})
		}
		return events.DynamoDBEventResponse{BatchItemFailures: failures}, nil
	}
}

// ErrUnmarked marks errors of type [*UnmarkedError].
var ErrUnmarked = errors.New("handlers: published, and not marked")

// UnmarkedError says that all messages of an item of the outbox are out, and
// that the item does not say so. It never expires. Mark it, or publish its
// messages again: their ids are the same.
type UnmarkedError struct {
	Key OutboxKey
	Err error
}

// Error does not have the text of Err, which may quote the item.
func (e *UnmarkedError) Error() string {
	return "handlers: the item is published, and was not marked: it stays in the outbox, and does not expire"
}

// Is reports whether target is ErrUnmarked.
func (e *UnmarkedError) Is(target error) bool { return target == ErrUnmarked }

// Unwrap gives the error of Mark.
func (e *UnmarkedError) Unwrap() error { return e.Err }

// PublishError says that the publishing function of an [OutboxRelay] returned a
// list with another number of errors than it got messages. None of them counts
// as published.
type PublishError struct{ Errors, Messages int }

func (e *PublishError) Error() string {
	return fmt.Sprintf("handlers: the publishing function answers with %d errors for %d messages", e.Errors, e.Messages)
}
