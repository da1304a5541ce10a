package handlers

import (
	"context"
	"encoding/json"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/idempotent"
)

// KinesisRecord is a record of a stream.
type KinesisRecord[T any] = Delivery[events.KinesisEventRecord, T]

// KinesisOptions are the options of [Kinesis]: [StreamOptions].
type KinesisOptions = StreamOptions[events.KinesisEventRecord]

// Kinesis handles batches of a stream. The event source mapping must have
// ReportBatchItemFailures: without it, Lambda takes a report of failures for
// success.
//
// fn runs once per key. With a nil key, the key is the stream and the event id,
// which contains shard and sequence number. Records that the producer library
// has aggregated share a sequence number, and arrive as one record. Kinesis does
// not support mappings with a tumbling window, which have a state.
//
// Records run in order. The batch ends at the first that fails, from which
// Lambda delivers again. Records after it with other partition keys that are
// already done do not run again.
func Kinesis[T any](x *idempotent.Executor, key func(KinesisRecord[T]) (idempotent.Key, error), fn func(context.Context, KinesisRecord[T]) error, o *KinesisOptions) func(context.Context, events.KinesisEvent) (events.KinesisEventResponse, error) {
	b := newStreamBatch(source{name: "kinesis", eventSources: []string{"aws:kinesis"}, reports: true}, x, key, fn, o, func(r KinesisRecord[T]) events.KinesisEventRecord { return r.Source })
	return func(ctx context.Context, event events.KinesisEvent) (events.KinesisEventResponse, error) {
		read := func(i int) record[KinesisRecord[T]] {
			e := event.Records[i]
			r := readRecord[T](e, e.Kinesis.Data, message{issued: e.Kinesis.ApproximateArrivalTimestamp.Time})
			r.id, r.eventSource, r.key = e.Kinesis.SequenceNumber, e.EventSource, streamKey(e.EventSourceArn, e.EventID)
			return r
		}
		lane := func(i int) string { return event.Records[i].Kinesis.PartitionKey }
		failures, err := identifiers[events.KinesisBatchItemFailure](b.handleStream(ctx, len(event.Records), read, lane))
		return events.KinesisEventResponse{BatchItemFailures: failures}, err
	}
}

// streamKey returns a key with the stream as its scope, because ids are unique
// within a stream. Without either, there is no key.
func streamKey(stream, id string) idempotent.Key {
	if stream == "" || id == "" {
		return idempotent.Key{}
	}
	return idempotent.Key{Scope: stream, ID: id}
}

// DynamoDBStreamOptions are the options of [DynamoDBStream]: [StreamOptions].
type DynamoDBStreamOptions = StreamOptions[events.DynamoDBEventRecord]

// DynamoDBStream handles batches of a table's stream, under the rules of
// [Kinesis]. With a nil key, the key is the stream and the event id. The
// replicas of a global table have streams of their own: one change is an event
// in each Region, and each has its own id.
func DynamoDBStream(x *idempotent.Executor, key func(events.DynamoDBEventRecord) (idempotent.Key, error), fn func(context.Context, events.DynamoDBEventRecord) error, o *DynamoDBStreamOptions) func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	b := newStreamBatch(source{name: "dynamodb stream", eventSources: []string{"aws:dynamodb"}, reports: true}, x, key, fn, o, func(r events.DynamoDBEventRecord) events.DynamoDBEventRecord { return r })
	return func(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		read := func(i int) record[events.DynamoDBEventRecord] {
			e := event.Records[i]
			return record[events.DynamoDBEventRecord]{
				id: e.Change.SequenceNumber, eventSource: e.EventSource, delivery: e, key: streamKey(e.EventSourceArn, e.EventID),
				issued: e.Change.ApproximateCreationDateTime.Time,
			}
		}
		lane := func(i int) string { return itemKey(event.Records[i]) }
		failures, err := identifiers[events.DynamoDBBatchItemFailure](b.handleStream(ctx, len(event.Records), read, lane))
		return events.DynamoDBEventResponse{BatchItemFailures: failures}, err
	}
}

// itemKey returns the lane of a record: changes of one item stay in order.
// Records whose keys cannot be read share a lane.
func itemKey(r events.DynamoDBEventRecord) string {
	text, err := json.Marshal(r.Change.Keys)
	if err != nil {
		return ""
	}
	return string(text)
}

// StreamOptions are the options of [Kinesis], [DynamoDBStream] and [Kafka],
// whose own type of a record is E. The zero value of every field stands for
// its default, and a nil *StreamOptions for all of them. Config.Ahead and Config.Margin
// of the executor apply to batches, too. A record waits for a duplicate that is running
// elsewhere until the end of the invocation, because later records have to wait anyway.
type StreamOptions[E any] struct {
	// Concurrency is how many records run at once. Records of one partition
	// key, item key or Kafka partition run in order all the same. Default 1.
	Concurrency int

	// Late receives a record that Config.RefuseLate refuses, and Poison does not. Store it
	// elsewhere: only with a nil error it is acknowledged, although nothing has run for it.
	// Late is called as often as Poison.
	//
	// Default: none, which RefuseLate does not allow, because a refused record blocks its
	// shard or partition. [ReportLate] has it reported as failed, for a mapping that bisects
	// batches and has an OnFailure destination.
	Late func(ctx context.Context, r E, err *idempotent.KeyExpiredError) error

	// OnFailure receives every record that is not done, when the batch has been
	// handled. It must not panic. Default: [LogError]. [LogErrorText] adds the text
	// of handlers' own errors.
	OnFailure func(context.Context, *RecordError)

	// Poison receives a record that fails at every delivery. Its body does not
	// decode, it has no valid key, its error was [idempotent.Permanent], its key
	// was used with a different payload, or its outcome is unknown. Send it
	// somewhere else: with a nil error it is acknowledged. Poison is called for
	// several records at once, and again for a record that is delivered again
	// because of an earlier one.
	//
	// Default: the record is reported as failed. It blocks its shard or
	// partition until the mapping has used up its retries, or the record
	// expires; then it goes to the mapping's OnFailure destination.
	Poison func(ctx context.Context, r E, err error) error

	// Unrecorded is how many functions may have begun while their completion is
	// not recorded yet. As many can run a second time after a crash. A larger
	// number lets the next function start while the completion of the one before
	// it is on its way. Records that run in order always wait for it. Default
	// Concurrency.
	Unrecorded int
}

// newStreamBatch makes the batch of a stream. of returns the source's record in the
// handler's argument.
func newStreamBatch[E, D any](s source, x *idempotent.Executor, key func(D) (idempotent.Key, error), fn func(context.Context, D) error, o *StreamOptions[E], of func(D) E) *batch[D] {
	if o == nil {
		o = &StreamOptions[E]{}
	}
	b := newBatch(s, x, key, fn, batchSettings{concurrency: o.Concurrency, unrecorded: o.Unrecorded, onFailure: o.OnFailure, blocksIfLate: o.Late == nil})
	if late := o.Late; late != nil {
		b.late = func(ctx context.Context, d D, err *idempotent.KeyExpiredError) error { return late(ctx, of(d), err) }
	}
	if poison := o.Poison; poison != nil {
		b.isPoison = neverSucceeds
		b.poison = func(ctx context.Context, d D, err error) error { return poison(ctx, of(d), err) }
	}
	return b
}

// ReportLate is an option Late that has every record reported as failed, under the error
// with which it was refused. It states that the source has another way out for a record
// that always fails. In the options of [Kinesis] it is
// handlers.ReportLate[events.KinesisEventRecord].
func ReportLate[E any](_ context.Context, _ E, err *idempotent.KeyExpiredError) error { return err }

// handleStream returns the id of the record from which the stream must be
// delivered again, if there is one. Only the first failure counts, so nothing
// after it is started.
func (b *batch[D]) handleStream(ctx context.Context, size int, read func(i int) record[D], lane func(i int) string) (ids []string, _ error) {
	v, err := b.begin(ctx, size, read)
	if err != nil {
		return nil, err
	}
	order := lanes.InOrder(size)
	if b.options.concurrency > 1 {
		order = lanes.By(size, lane)
	}
	ids, err = v.failedIDs(v.handle(ctx, lanes.Schedule{Lanes: order, Halt: lanes.HaltEvent}))
	return ids[:min(len(ids), 1)], err
}
