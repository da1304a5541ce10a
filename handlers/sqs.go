package handlers

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// SQSMessage is a message of a queue.
type SQSMessage[T any] = Delivery[events.SQSMessage, T]

// SQSOptions holds the options of [SQS]. The zero value of every field stands
// for its default, and a nil *SQSOptions for all of them.
type SQSOptions struct {
	// Concurrency is how many messages of a batch run at once. Default 1.
	Concurrency int

	// ContinueGroups goes on with the other message groups of a FIFO queue
	// when a message fails; those of its own group wait for it all the same.
	// Groups then run at the same time, within Concurrency. Default false:
	// everything after the failure is reported along with it.
	ContinueGroups bool

	// ErrorIfAllFailed fails the invocation when not one message succeeded,
	// for Lambda slows its polling down on errors and not on reports.
	// Default false.
	ErrorIfAllFailed bool

	// HideErrorText hides the text of handlers' own errors in the line that
	// OnFailure writes by default: it has their type instead. Set it where
	// these texts quote what no log may hold. An executor with a
	// Config.Sealer hides them in any case. Default false.
	HideErrorText bool

	// Margin is the time left below which no further message is started. It
	// counts from the end of the handlers' time, which is Config.Reserve
	// before the invocation's. Set it to more than the slowest handler takes:
	// a handler that is cut off behind its effect is run again. A Margin that
	// leaves no room to start fails the invocation with a [*MarginError].
	// Default 1 s, and at most half of the time that the handlers have.
	Margin time.Duration

	// OnFailure is told of every message that is not done, when the batch has
	// ended. It must not panic. Default: a line on [slog.Default] with
	// the error's text, in one line and cut after 1 KiB, and the stack of a
	// panic.
	OnFailure func(context.Context, *RecordError)

	// Visibility moves the time at which a message comes back, for one whose
	// twin is still running, to when the twin's lease has ended: deliveries
	// before that are in vain, and may push it into the dead-letter queue. It
	// is the place to call sqs.ChangeMessageVisibility, with the message's
	// ReceiptHandle and the timeout in seconds, rounded up. Default: the
	// queue's own visibility timeout.
	Visibility func(ctx context.Context, m events.SQSMessage, timeout time.Duration) error

	// Wait is how long a message whose twin is running waits for the twin's
	// end before it is reported as failed, within the Margin. Default 5 s.
	Wait time.Duration
}

// SQS handles batches of a queue whose event source mapping has
// ReportBatchItemFailures: without it, Lambda takes a report of failures for
// success and deletes the messages.
//
// fn runs once per key. A nil key stands for the message id, or the inner id
// of what is unwrapped by [FromSNS], [FromEventBridge] and [FromS3]. A message
// id survives redelivery, but not a redrive out of a dead-letter queue, nor a
// producer that sends twice: an id of the business does, and so does a chain
// key.
//
// A message with a chain key (see [ChainAttribute]), which may be that of what
// is unwrapped, has it for its key where key is nil, together with the body:
// another body under the same key is refused. It survives all of these, also
// the redrive of a message that failed for good, which is not run again.
// Whatever the key, fn's own [idempotent.ChainKey] continues the chain.
//
// A message that is done already is acknowledged without running. Two of one
// key in a batch run once, and one whose twin runs elsewhere waits. A message
// that fails, does not decode or could not be started is reported, and comes
// back. One that failed with an [idempotent.Permanent] error is reported at
// every delivery, and not run again, until the queue moves it to its
// dead-letter queue.
//
// In a FIFO queue, known by the suffix of its ARN, messages run in order, and
// after the first that fails all others are reported.
func SQS[T any](x *idempotent.Executor, key func(SQSMessage[T]) (idempotent.Key, error), fn func(context.Context, SQSMessage[T]) error, o *SQSOptions) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	if o == nil {
		o = &SQSOptions{}
	}
	b := newBatch(source{"sqs", []string{"aws:sqs"}, true}, x, key, fn, newPolicy("sqs", o.Concurrency, o.Margin, o.Wait, 5*time.Second, o.OnFailure, o.HideErrorText))
	if o.Visibility != nil {
		b.onConflict = func(ctx context.Context, m SQSMessage[T], running *idempotent.InProgressError) error {
			return postpone(ctx, m.Source, running, o.Visibility)
		}
	}
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		v, err := b.begin(ctx, len(event.Records), func(i int) record[SQSMessage[T]] {
			m := event.Records[i]
			body, held, err := decodeBody[T]([]byte(m.Body))
			told := held.in(inner{id: m.MessageId, chain: sqsAttribute(m, ChainAttribute), text: []byte(m.Body)})
			return record[SQSMessage[T]]{
				id: m.MessageId, mark: m.EventSource, delivery: SQSMessage[T]{m, body, told.chain},
				key: idempotent.Key{ID: told.id}, chain: told.chain, text: told.text, skip: told.skip, err: err,
			}
		})
		if err != nil {
			return events.SQSEventResponse{}, err
		}
		ends := v.handle(ctx, sqsSchedule(event.Records, o.ContinueGroups))
		if o.ErrorIfAllFailed && !anyDone(ends) {
			return events.SQSEventResponse{}, v.failed(ends, "none succeeded")
		}
		ids, err := v.report(ends)
		if err != nil {
			return events.SQSEventResponse{}, err
		}
		failures := make([]events.SQSBatchItemFailure, len(ids)) // marshals as [] where there is none
		for i, id := range ids {
			failures[i].ItemIdentifier = id
		}
		return events.SQSEventResponse{BatchItemFailures: failures}, nil
	}
}

// SQSAttribute is a key function that takes the ID from a message attribute.
func SQSAttribute[T any](name string) func(SQSMessage[T]) (idempotent.Key, error) {
	return idempotent.Field(func(m SQSMessage[T]) string { return sqsAttribute(m.Source, name) })
}

func sqsSchedule(messages []events.SQSMessage, continueGroups bool) schedule {
	switch {
	case !isFIFO(messages):
		return schedule{lanes: apart(len(messages))}
	case continueGroups:
		return schedule{halt: haltLane, lanes: byLane(len(messages), func(i int) string {
			return messages[i].Attributes["MessageGroupId"]
		})}
	default:
		return schedule{halt: haltLane, lanes: inOrder(len(messages))}
	}
}

// isFIFO does not go by the message group: standard queues have groups too,
// for fairness.
func isFIFO(messages []events.SQSMessage) bool {
	return slices.ContainsFunc(messages, func(m events.SQSMessage) bool { return strings.HasSuffix(m.EventSourceARN, ".fifo") })
}

// longestVisibility is SQS's limit.
const longestVisibility = 12 * time.Hour

// postpone adds to the lease what makes it surely lapsed: a default ClockSkew
// on either side.
func postpone(ctx context.Context, m events.SQSMessage, running *idempotent.InProgressError, visibility func(context.Context, events.SQSMessage, time.Duration) error) error {
	left := time.Until(running.Until)
	if running.Until.IsZero() || left <= 0 {
		return nil
	}
	seconds := (left + 2*time.Second + time.Second - 1).Truncate(time.Second)
	return visibility(ctx, m, min(seconds, longestVisibility))
}
