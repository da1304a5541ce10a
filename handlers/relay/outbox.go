package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/driver"
)

// Options are the options of [Outbox]. The zero value of every field
// stands for its default, and a nil *Options for all of them.
type Options struct {
	// BatchSize is the largest number of messages in a call of publish. Default
	// 10, the most that SQS, SNS and EventBridge take in one call.
	BatchSize int

	// Concurrency is how many calls of publish run at once. Default 1.
	Concurrency int

	// Mark marks items in the table as published, so that they expire. With
	// DynamoDB, it is the method MarkAll of an outbox.Outbox of package dynamo/outbox.
	// Mark is called after all messages of an item are published, never before.
	// It must not mark an item whose time of creation is not Created: that item
	// was rewritten since, and its messages may not be published.
	//
	// If Mark fails, one of its items at least is published but unmarked, and none is
	// tried again: OnFailure receives an [*UnmarkedError] for each. An unmarked item
	// stays in the table until a search for pending items finds it. Default: nothing is
	// marked, and nothing expires.
	Mark func(context.Context, []driver.OutboxKey) error

	// OnFailure receives every record that is not done, when the batch has been
	// handled, and every item that could not be marked. It must not panic.
	// Default: [handlers.LogError]. [handlers.LogErrorText] adds the text of errors
	// that publish and Mark return.
	OnFailure func(context.Context, *handlers.RecordError)
}

// Outbox handles the stream of an outbox: it publishes the messages that
// transactions have written there. The stream must contain new images, and its
// event source mapping must have ReportBatchItemFailures. Bound the mapping's
// retries, or one item that cannot be published blocks its shard for a day. An
// item whose retries are used up stays in the table, unmarked.
//
// Messages of one aggregate are published in order, whatever the destination: a
// message is published only after all before it. So a batch never contains two
// messages of one aggregate: if the first failed, the second would overtake it.
// Batches are filled from different aggregates, which do not wait for each
// other: a failure stops its own aggregate, and no other in the same event.
//
// The first item that is not published is reported, and it and all that follow
// it are delivered again, published or not. Messages that this process has
// published are not published again, as far as it remembers (the last 10,000).
// For all others the receiver must recognize the ID: a FIFO queue does for 5
// minutes, and handlers.SQS with the chain key does while it stores its records.
//
// Items that are inserted or rewritten are published. Items with the attribute
// published are not, and removals are ignored. An item that is not in Once's
// format fails, and stops its aggregate.
//
// With less than a second left of the invocation, or less than half of its time, publish
// is not called. The contexts of publish and Mark end when half of that is left.
//
// Outbox panics with a [*driver.ConfigError] that lists all mistakes if publish is nil,
// or options are negative.
func Outbox(publish Publisher, o *Options) func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	if o == nil {
		o = &Options{}
	}
	var mistakes driver.Mistakes
	mistakes.If(publish == nil, "relay: the publishing function is nil")
	mistakes.If(o.BatchSize < 0, "relay: Options.BatchSize is %d; it must not be negative", o.BatchSize)
	mistakes.If(o.Concurrency < 0, "relay: Options.Concurrency is %d; it must not be negative", o.Concurrency)
	mistakes.Panic()
	r := &relay{publish: publish, options: *o, recent: newRecent(10_000)}
	r.options.BatchSize = cmp.Or(o.BatchSize, 10)
	r.options.Concurrency = cmp.Or(o.Concurrency, 1)
	if o.OnFailure == nil {
		r.options.OnFailure = handlers.LogError
	}
	return func(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		failed, err := r.handle(ctx, event.Records)
		if err != nil {
			return events.DynamoDBEventResponse{}, err
		}
		return events.DynamoDBEventResponse{BatchItemFailures: failed}, nil
	}
}

// ErrUnmarked matches errors of type [*UnmarkedError].
var ErrUnmarked = errors.New("relay: published but not marked")

// UnmarkedError reports that all messages of an item of the outbox are
// published, but the item, or one that was to be marked with it, is not marked, so it
// never expires. Mark it, or publish its messages again: their ids are the same.
type UnmarkedError struct {
	Key driver.OutboxKey
	Err error
}

// Error does not contain the text of Err, which may quote the item.
func (e *UnmarkedError) Error() string {
	return "relay: the item is published but may not be marked: it then stays in the outbox and does not expire"
}

// SafeText returns the whole text.
func (e *UnmarkedError) SafeText() string { return e.Error() }

// Is reports whether target is ErrUnmarked.
func (e *UnmarkedError) Is(target error) bool { return target == ErrUnmarked }

// Unwrap returns the error of Mark.
func (e *UnmarkedError) Unwrap() error { return e.Err }

// PublishError reports that the publishing function of an [Outbox]
// returned a list whose length is not the number of messages. None of them
// counts as published.
type PublishError struct{ Errors, Messages int }

func (e *PublishError) Error() string {
	return fmt.Sprintf("relay: the publishing function returned %d errors for %d messages", e.Errors, e.Messages)
}

// SafeText returns the whole text.
func (e *PublishError) SafeText() string { return e.Error() }
