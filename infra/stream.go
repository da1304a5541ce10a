package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// StreamProps are the props of [IdempotentFunction.AddStream] and
// [IdempotentFunction.AddTableStream]. The zero value of every field is its default. For more,
// add an event source of CDK, which [Check] examines.
type StreamProps struct {
	// BatchSize is the maximum number of records of an invocation: 1 to 10,000. Default: 100,
	// and 1 for a durable function, which handles a batch in one execution.
	BatchSize int

	// MaxAge is the age at which a record is given up: whole seconds, 1 min to 7 days. It must
	// be less than the stream's retention, or a record could disappear before it reaches the
	// failure queue. Default: 12 h, half of the shortest retention of a stream.
	MaxAge time.Duration
}

// AddStream feeds the function from a Kinesis stream, from its oldest record. Failures are
// reported by record. A failed batch is split, retried ten times, and then given up: a record
// that always fails would block its shard, and the records behind it could reach MaxAge without
// having run. The queue that AddStream returns receives its position in the stream, not its
// records, which can be read until the stream deletes them. The queue is retained when its stack
// is deleted, unless the table is Ephemeral.
//
// AddStream panics with a [*PropsError] for props that CDK refuses. [Check] finds a MaxAge that is
// not less than the retention of a stream of the app, and records that expire before a record of
// the failure queue is sent again.
func (f *IdempotentFunction) AddStream(id string, stream awskinesis.IStream, props *StreamProps) awssqs.Queue {
	p := f.streamProps(props)
	return f.stream(id, "stream", stream == nil, func(failures awssqs.Queue) awslambda.IEventSource {
		return awslambdaeventsources.NewKinesisEventSource(stream, &awslambdaeventsources.KinesisEventSourceProps{
			BatchSize: jsii.Number(p.BatchSize), MaxBatchingWindow: seconds(0), ParallelizationFactor: jsii.Number(1),
			BisectBatchOnError: jsii.Bool(true), ReportBatchItemFailures: jsii.Bool(true), StartingPosition: awslambda.StartingPosition_TRIM_HORIZON,
			MaxRecordAge: seconds(p.MaxAge), OnFailure: awslambdaeventsources.NewSqsDlq(failures), RetryAttempts: jsii.Number(10),
		})
	})
}

// AddTableStream is like [IdempotentFunction.AddStream] for the stream of a DynamoDB table,
// which has a retention of 24 h, and at most 1,000 records in an invocation. Import a table with
// the ARN of its stream.
func (f *IdempotentFunction) AddTableStream(id string, table awsdynamodb.ITable, props *StreamProps) awssqs.Queue {
	p := f.streamProps(props)
	return f.stream(id, "table", table == nil, func(failures awssqs.Queue) awslambda.IEventSource {
		return awslambdaeventsources.NewDynamoEventSource(table, tableSource(&p, 10, failures))
	})
}

// tableSource returns the props of CDK for the stream of a table.
func tableSource(p *StreamProps, retries int, failures awssqs.Queue) *awslambdaeventsources.DynamoEventSourceProps {
	return &awslambdaeventsources.DynamoEventSourceProps{
		BatchSize: jsii.Number(p.BatchSize), MaxBatchingWindow: seconds(0), ParallelizationFactor: jsii.Number(1),
		BisectBatchOnError: jsii.Bool(true), ReportBatchItemFailures: jsii.Bool(true), StartingPosition: awslambda.StartingPosition_TRIM_HORIZON,
		MaxRecordAge: seconds(p.MaxAge), OnFailure: awslambdaeventsources.NewSqsDlq(failures), RetryAttempts: jsii.Number(retries),
	}
}

func (f *IdempotentFunction) streamProps(props *StreamProps) StreamProps {
	return filled(props, StreamProps{BatchSize: f.batchSize(100), MaxAge: maxStreamAge})
}

// maxStreamAge is the default of MaxAge.
const maxStreamAge = day / 2

// stream feeds the function from a source, and returns the queue of its failures.
func (f *IdempotentFunction) stream(id, name string, absent bool, source func(failures awssqs.Queue) awslambda.IEventSource) awssqs.Queue {
	found := refuseID(f.scope, id, failuresID)
	found.when(absent, "%s: it is required", name)
	found.panic(f.scope, id)
	return build(f.scope, id, "StreamProps", func() awssqs.Queue {
		failures := f.newFailures(id)
		f.Target().AddEventSource(source(failures))
		return failures
	})
}
