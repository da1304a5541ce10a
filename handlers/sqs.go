package handlers

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/idempotent"
)

// SQSMessage is a message of a queue.
type SQSMessage[T any] = Delivery[events.SQSMessage, T]

// SQSOptions are the options of [SQS]. The zero value of every field stands for
// its default, and a nil *SQSOptions for all of them. Config.Ahead and Config.Margin of
// the executor apply to batches, too.
type SQSOptions struct {
	// Concurrency is how many messages of a batch run at once. Default 1.
	Concurrency int

	// ErrorIfAllFailed fails the invocation if no message succeeded, because
	// Lambda slows its polling down after errors and not after reports.
	// Default false.
	ErrorIfAllFailed bool

	// Late receives a message that Config.RefuseLate refuses, and Poison does not. Store it
	// elsewhere: only with a nil error it is acknowledged, although nothing has run for it.
	// Late is called as often as Poison.
	//
	// Default: the message is reported at every delivery, as by [ReportLate], until SQS
	// moves it to the dead-letter queue. Behind it, the messages of its FIFO group wait.
	Late func(ctx context.Context, m events.SQSMessage, err *idempotent.KeyExpiredError) error

	// OnFailure receives every message that is not done, when the batch has been
	// handled. It must not panic. Default: [LogError]. [LogErrorText] adds the text
	// of handlers' own errors.
	OnFailure func(context.Context, *RecordError)

	// Poison receives a message whose permanent failure is stored: fn returned an
	// [idempotent.Permanent] error now or at an earlier delivery. Send it somewhere
	// else: only with a nil error it is acknowledged, and the next message of its
	// group in a FIFO queue runs. Poison is called for several messages at once, and
	// again if the acknowledgement is lost.
	//
	// Default: the message is reported at every delivery, until SQS moves it to the
	// dead-letter queue. Behind it, the messages of its group wait, are received as
	// often, and may move there too.
	Poison func(ctx context.Context, m events.SQSMessage, err error) error

	// StopGroups makes all message groups of a FIFO queue one: its messages run one
	// at a time, and after the first that fails all the rest are reported. They are
	// received again as often as that one, and may follow it into the dead-letter
	// queue. Default false: groups run at the same time, within Concurrency, and a
	// failure stops its own group.
	StopGroups bool

	// Unrecorded is how many functions may have begun while their completion is
	// not recorded yet. As many can run a second time after a crash. A larger
	// number lets the next function start while the completion of the one before
	// it is on its way. Messages that run in order always wait for it. Default
	// Concurrency.
	Unrecorded int

	// Visibility delays the next delivery of a message whose duplicate is still
	// running until the duplicate's lease has expired. Earlier deliveries are in
	// vain, and may push the message into the dead-letter queue. Call
	// sqs.ChangeMessageVisibility here, with the message's ReceiptHandle and the
	// timeout in seconds, rounded up. Default: the queue's own visibility
	// timeout.
	Visibility func(ctx context.Context, m events.SQSMessage, timeout time.Duration) error
}

// SQS handles batches of a queue. The event source mapping must have
// ReportBatchItemFailures: without it, Lambda takes a report of failures for
// success and deletes the messages.
//
// fn runs once per key. With a nil key, the key is the message id, or the id of
// an event inside the message ([FromSNS], [FromEventBridge], [FromS3]). A
// message id survives redelivery, but not a redrive from a dead-letter queue,
// nor a producer that sends twice. An id of the business survives both, and so
// does a chain key.
//
// If key is nil and the message, or the event inside it, carries a chain key
// (see [ChainAttribute]), that is the key, together with the body: the same
// chain key with a different body is refused. A message that failed permanently
// does not run again after a redrive either. Whatever the key is, fn's own
// [idempotent.ChainKey] continues the chain.
//
// A message that is already done is acknowledged without running. Two messages
// with one key in a batch run once, and a message waits up to 5 s for a duplicate that
// is running elsewhere. A message that fails, does not decode or could not start is
// reported, and SQS delivers it again. After an [idempotent.Permanent] error it
// does not run again, and is reported at every delivery until SQS moves it to
// the dead-letter queue.
//
// The record of a message that was delivered before is read before it is claimed,
// as with Config.ReadFirst: most are finished, or have to be taken over.
//
// SQS logs a warning if Config.Retention is below 4 days, as long as a queue keeps
// a message by default: a message that is delivered later runs again.
//
// In a FIFO queue, recognized by the suffix of its ARN, the messages of a group run
// in order. After the first that fails, the rest of its group is reported with it,
// and other groups go on. SQS counts a receive of each reported message: a message
// that always fails takes those behind it along to the dead-letter queue, unless the
// option Poison receives it.
func SQS[T any](x *idempotent.Executor, key func(SQSMessage[T]) (idempotent.Key, error), fn func(context.Context, SQSMessage[T]) error, o *SQSOptions) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	if o == nil {
		o = &SQSOptions{}
	}
	s := source{name: "sqs", eventSources: []string{"aws:sqs"}, reports: true, wait: 5 * time.Second}
	b := newBatch(s, x, key, fn, batchSettings{concurrency: o.Concurrency, unrecorded: o.Unrecorded, onFailure: o.OnFailure})
	warnOfRetention("sqs", x)
	if o.Poison != nil {
		b.isPoison = isStored
		b.poison = func(ctx context.Context, m SQSMessage[T], err error) error { return o.Poison(ctx, m.Source, err) }
	}
	if o.Late != nil {
		b.late = func(ctx context.Context, m SQSMessage[T], err *idempotent.KeyExpiredError) error {
			return o.Late(ctx, m.Source, err)
		}
	}
	if o.Visibility != nil {
		b.onConflict = func(ctx context.Context, m SQSMessage[T], running *idempotent.InProgressError) error {
			return postpone(ctx, m.Source, running, o.Visibility)
		}
	}
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		v, err := b.begin(ctx, len(event.Records), func(i int) record[SQSMessage[T]] {
			m := event.Records[i]
			r := readRecord[T](m, []byte(m.Body), message{id: m.MessageId, chain: sqsAttribute(m, ChainAttribute), issued: sqsSent(m)})
			r.eventSource = m.EventSource
			count := m.Attributes["ApproximateReceiveCount"]
			r.redelivered = count != "" && count != "1"
			return r
		})
		if err != nil {
			return events.SQSEventResponse{}, err
		}
		results := v.handle(ctx, sqsSchedule(event.Records, o.StopGroups))
		if o.ErrorIfAllFailed && !slices.Contains(results, nil) {
			return events.SQSEventResponse{}, v.batchError(results, "none succeeded")
		}
		failures, err := identifiers[events.SQSBatchItemFailure](v.failedIDs(results))
		return events.SQSEventResponse{BatchItemFailures: failures}, err
	}
}

// SQSAttribute returns a key function that uses a message attribute as the ID.
func SQSAttribute[T any](name string) func(SQSMessage[T]) (idempotent.Key, error) {
	return idempotent.Field(func(m SQSMessage[T]) string { return sqsAttribute(m.Source, name) })
}

func sqsAttribute(m events.SQSMessage, name string) string {
	if value := m.MessageAttributes[name].StringValue; value != nil {
		return *value
	}
	return ""
}

// sqsSent returns when a message was sent, or the zero time. A redrive sends it again, and
// so does the move to a FIFO queue's dead-letter queue.
func sqsSent(m events.SQSMessage) time.Time {
	sent, err := strconv.ParseInt(m.Attributes["SentTimestamp"], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(sent)
}

func sqsSchedule(messages []events.SQSMessage, stopGroups bool) lanes.Schedule {
	switch {
	case !isFIFO(messages):
		return lanes.Schedule{}
	case stopGroups:
		return lanes.Schedule{Halt: lanes.HaltLane, Lanes: lanes.InOrder(len(messages))}
	default:
		return lanes.Schedule{Halt: lanes.HaltLane, Lanes: lanes.By(len(messages), func(i int) string {
			return messages[i].Attributes["MessageGroupId"]
		})}
	}
}

// isFIFO ignores message groups: standard queues have them too, for fairness.
func isFIFO(messages []events.SQSMessage) bool {
	return slices.ContainsFunc(messages, func(m events.SQSMessage) bool { return strings.HasSuffix(m.EventSourceARN, ".fifo") })
}

// longestVisibility is SQS's limit.
const longestVisibility = 12 * time.Hour

// postpone adds a default ClockSkew on either side to the lease, so that it has
// surely expired.
func postpone(ctx context.Context, m events.SQSMessage, running *idempotent.InProgressError, visibility func(context.Context, events.SQSMessage, time.Duration) error) error {
	left := time.Until(running.Until)
	if running.Until.IsZero() || left <= 0 {
		return nil
	}
	seconds := (left + 2*time.Second + time.Second - 1).Truncate(time.Second)
	return visibility(ctx, m, min(seconds, longestVisibility))
}
