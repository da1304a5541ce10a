package handlers

import (
	"context"
	"encoding/json"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// DynamoDBStreamOptions are the options of [DynamoDBStream]: [StreamOptions].
type DynamoDBStreamOptions = StreamOptions[events.DynamoDBEventRecord]

// DynamoDBStream handles batches of a table's stream, under the rules of
// [Kinesis]. With a nil key, the key is the stream and the event id. The
// replicas of a global table have streams of their own: one change is an event
// in each Region, and each has its own id.
func DynamoDBStream(x *idempotent.Executor, key func(events.DynamoDBEventRecord) (idempotent.Key, error), fn func(context.Context, events.DynamoDBEventRecord) error, o *DynamoDBStreamOptions) func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	b := newStreamBatch(source{name: "dynamodb stream", eventSources: []string{"aws:dynamodb"}, reports: true}, x, key, fn, o, func(r events.DynamoDBEventRecord) events.DynamoDBEventRecord { return r })
	return func(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		ids, err := b.handleStream(ctx, len(event.Records), func(i int) record[events.DynamoDBEventRecord] {
			e := event.Records[i]
			return record[events.DynamoDBEventRecord]{
				id: e.Change.SequenceNumber, eventSource: e.EventSource, delivery: e, key: streamKey(e.EventSourceArn, e.EventID),
			}
		}, func(i int) string { return itemKey(event.Records[i]) })
		if err != nil {
			return events.DynamoDBEventResponse{}, err
		}
		return events.DynamoDBEventResponse{BatchItemFailures: identifiers[events.DynamoDBBatchItemFailure](ids)}, nil
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
