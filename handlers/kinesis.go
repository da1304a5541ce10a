package handlers

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

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
		ids, err := b.handleStream(ctx, len(event.Records), func(i int) record[KinesisRecord[T]] {
			e := event.Records[i]
			r := readRecord[T](e, e.Kinesis.Data, message{})
			r.id, r.eventSource, r.key = e.Kinesis.SequenceNumber, e.EventSource, streamKey(e.EventSourceArn, e.EventID)
			return r
		}, func(i int) string { return event.Records[i].Kinesis.PartitionKey })
		if err != nil {
			return events.KinesisEventResponse{}, err
		}
		return events.KinesisEventResponse{BatchItemFailures: identifiers[events.KinesisBatchItemFailure](ids)}, nil
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
