package handlers

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// KinesisRecord is a record of a stream.
type KinesisRecord[T any] = Delivery[events.KinesisEventRecord, T]

// KinesisOptions holds the options of [Kinesis]: [StreamOptions].
type KinesisOptions = StreamOptions[events.KinesisEventRecord]

// Kinesis handles batches of a stream whose event source mapping has
// ReportBatchItemFailures: without it, Lambda takes a report of failures for
// success.
//
// fn runs once per key. A nil key stands for the stream and the event id,
// which holds shard and sequence number. Records that the producer library has
// aggregated share a sequence number, and come here as one record. Mappings
// with a tumbling window, which have a state, are not for this handler.
//
// Records run in order. At the first that fails the batch ends: Lambda
// delivers again from there, and what is done after it, by other partition
// keys, is not run again.
func Kinesis[T any](x *idempotent.Executor, key func(KinesisRecord[T]) (idempotent.Key, error), fn func(context.Context, KinesisRecord[T]) error, o *KinesisOptions) func(context.Context, events.KinesisEvent) (events.KinesisEventResponse, error) {
	b := newStreamBatch(source{"kinesis", []string{"aws:kinesis"}, true}, x, key, fn, o, func(r KinesisRecord[T]) events.KinesisEventRecord { return r.Source })
	return func(ctx context.Context, event events.KinesisEvent) (events.KinesisEventResponse, error) {
		v, err := b.begin(ctx, len(event.Records), func(i int) record[KinesisRecord[T]] {
			r := event.Records[i]
			body, held, err := decodeBody[T](r.Kinesis.Data)
			return record[KinesisRecord[T]]{
				id: r.Kinesis.SequenceNumber, mark: r.EventSource, delivery: KinesisRecord[T]{r, body, held.chain},
				key: streamKey(r.EventSourceArn, r.EventID), chain: held.chain, text: held.text, skip: held.skip, err: err,
			}
		})
		if err != nil {
			return events.KinesisEventResponse{}, err
		}
		at, err := v.handleStream(ctx, func(i int) string { return event.Records[i].Kinesis.PartitionKey })
		if err != nil {
			return events.KinesisEventResponse{}, err
		}
		failures := []events.KinesisBatchItemFailure{} // a nil one marshals as null
		if at >= 0 {
			failures = append(failures, events.KinesisBatchItemFailure{ItemIdentifier: v.records[at].id})
		}
		return events.KinesisEventResponse{BatchItemFailures: failures}, nil
	}
}

// streamKey has the stream as its scope, as ids are a stream's own. There is
// no key without either.
func streamKey(stream, id string) idempotent.Key {
	if stream == "" || id == "" {
		return idempotent.Key{}
	}
	return idempotent.Key{Scope: stream, ID: id}
}
