package handlers

import (
	"context"
	"encoding/json"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// DynamoDBStreamOptions holds the options of [DynamoDBStream]: [StreamOptions].
type DynamoDBStreamOptions = StreamOptions[events.DynamoDBEventRecord]

// DynamoDBStream handles batches of a table's stream, under the rules of
// [Kinesis]. A nil key stands for the stream and the event id. The replicas of
// a global table have streams of their own: one change is an event in each
// Region, and each has its own id.
func DynamoDBStream(x *idempotent.Executor, key func(events.DynamoDBEventRecord) (idempotent.Key, error), fn func(context.Context, events.DynamoDBEventRecord) error, o *DynamoDBStreamOptions) func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	b := newStreamBatch(source{"dynamodb stream", []string{"aws:dynamodb"}, true}, x, key, fn, o, func(r events.DynamoDBEventRecord) events.DynamoDBEventRecord { return r })
	return func(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		v, err := b.begin(ctx, len(event.Records), func(i int) record[events.DynamoDBEventRecord] {
			r := event.Records[i]
			return record[events.DynamoDBEventRecord]{
				id: r.Change.SequenceNumber, mark: r.EventSource, delivery: r, key: streamKey(r.EventSourceArn, r.EventID),
			}
		})
		if err != nil {
			return events.DynamoDBEventResponse{}, err
		}
		at, err := v.handleStream(ctx, func(i int) string { return itemKey(event.Records[i]) })
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

// itemKey is the lane of a record: changes of one item stay in order. Records
// whose keys cannot be read share one.
func itemKey(r events.DynamoDBEventRecord) string {
	text, err := json.Marshal(r.Change.Keys)
	if err != nil {
		return ""
	}
	return string(text)
}
