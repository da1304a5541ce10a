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
// [IdempotentFunction.AddTableStream]. The zero value of every field is its default.
type StreamProps struct {
	// BatchSize is the maximum number of records of an invocation: 1 to 10,000, or to 1,000 for
	// the stream of a table. Default: 100, and 1 for a durable function, which handles a batch
	// in one execution.
	BatchSize int

	// BatchingWindow is as in [QueueProps]. Default: 0.
	BatchingWindow time.Duration

	// Latest starts at records that are written after the deployment. Default: false. It starts
	// at the oldest record of the stream.
	Latest bool

	// MaxAge is the age at which a record is given up: whole seconds, 1 min to 7 days. It must
	// be less than the stream's retention, or a record could disappear before it reaches the
	// failure queue. Default: 12 h, half of the shortest retention of a stream.
	MaxAge time.Duration

	// Parallelization is the number of batches of a shard that run at once: 1 to 10. A Kinesis
	// stream keeps the order of each partition key. The stream of a table keeps the order of
	// each item, so two items with one partition key may run at once. Default: 1.
	Parallelization int

	// Retention is the retention of an imported Kinesis stream: whole hours, 1 to 365 days. That
	// of a stream of this app is read. Default: not declared. MaxAge is then unchecked.
	Retention time.Duration

	// Retries is the number of retries before a batch is given up: 1 to 10,000. Lambda's own
	// default retries until MaxAge. A record that always fails would block its shard for as
	// long, and the records behind it could reach MaxAge without having run. Raise it if outages
	// are likelier than such records, or if the handler has a Poison function that takes them.
	// Default: 10.
	Retries int
}

// AddStream feeds the function from a Kinesis stream. Failures are reported by record. A
// failed batch is split, retried, and then given up. The queue that AddStream returns receives
// its position in the stream, not its records, which can be read until the stream deletes
// them. The queue is retained when its stack is deleted, unless the table is Ephemeral.
//
// AddStream panics with a [*PropsError] if the ExecutionTimeout of a durable function is more
// than 15 min, and if the function's records may expire before a record of the last message
// of this queue is sent again: FailureRetention after MaxAge.
func (f *IdempotentFunction) AddStream(id string, stream awskinesis.IStream, props *StreamProps) awssqs.Queue {
	p := f.streamProps(props)
	found := f.refuseSource("stream", stream, func() *string { return stream.StreamArn() })
	found.when(p.Retention != 0 && (p.Retention < day || p.Retention > 365*day || p.Retention%time.Hour != 0),
		"Retention: %s is not whole hours, 1 to 365 days", p.Retention)
	if stream != nil {
		if resource, created := stream.Node().DefaultChild().(awskinesis.CfnStream); created {
			found.fact("Retention", &p.Retention, resource.RetentionPeriodHours(), time.Hour, day)
		}
	}
	failures := f.newStream(id, &p, 10000, found)
	f.target().AddEventSource(awslambdaeventsources.NewKinesisEventSource(stream, &awslambdaeventsources.KinesisEventSourceProps{
		BatchSize: jsii.Number(p.BatchSize), MaxBatchingWindow: seconds(p.BatchingWindow), ParallelizationFactor: jsii.Number(p.Parallelization),
		BisectBatchOnError: jsii.Bool(true), ReportBatchItemFailures: jsii.Bool(true), StartingPosition: startingAt[p.Latest],
		MaxRecordAge: seconds(p.MaxAge), OnFailure: awslambdaeventsources.NewSqsDlq(failures), RetryAttempts: jsii.Number(p.Retries),
	}))
	return failures
}

// AddTableStream is like [IdempotentFunction.AddStream] for the stream of a DynamoDB table,
// which has a retention of 24 h. Import a table with the ARN of its stream. AddTableStream
// also panics with a [*PropsError] for a table without a stream.
func (f *IdempotentFunction) AddTableStream(id string, table awsdynamodb.ITable, props *StreamProps) awssqs.Queue {
	p := f.streamProps(props)
	found := problems{"table: it has no stream; set DynamoStream, or TableStreamArn of an import"}
	if table == nil || hasStream(table) {
		found = f.refuseSource("table", table, func() *string { return table.TableStreamArn() })
	}
	found.fact("Retention", &p.Retention, nil, time.Hour, day)
	failures := f.newStream(id, &p, 1000, found)
	f.target().AddEventSource(awslambdaeventsources.NewDynamoEventSource(table, p.ofTable(failures)))
	return failures
}

// hasStream reports whether a table has a stream. CDK knows an ARN for that of each TableV2,
// even if there is none.
func hasStream(table awsdynamodb.ITable) bool {
	if resource, created := table.Node().DefaultChild().(awsdynamodb.CfnGlobalTable); created {
		return table.Stack().Resolve(resource.StreamSpecification()) != nil
	}
	return table.TableStreamArn() != nil
}

// ofTable returns the props of CDK for the stream of a table.
func (p *StreamProps) ofTable(failures awssqs.Queue) *awslambdaeventsources.DynamoEventSourceProps {
	return &awslambdaeventsources.DynamoEventSourceProps{
		BatchSize: jsii.Number(p.BatchSize), MaxBatchingWindow: seconds(p.BatchingWindow), ParallelizationFactor: jsii.Number(p.Parallelization),
		BisectBatchOnError: jsii.Bool(true), ReportBatchItemFailures: jsii.Bool(true), StartingPosition: startingAt[p.Latest],
		MaxRecordAge: seconds(p.MaxAge), OnFailure: awslambdaeventsources.NewSqsDlq(failures), RetryAttempts: jsii.Number(p.Retries),
	}
}

var startingAt = map[bool]awslambda.StartingPosition{false: awslambda.StartingPosition_TRIM_HORIZON, true: awslambda.StartingPosition_LATEST}

func (f *IdempotentFunction) streamProps(props *StreamProps) StreamProps {
	return filled(props, StreamProps{BatchSize: f.batchSize(100), MaxAge: day / 2, Parallelization: 1, Retries: 10})
}

// newStream checks the props, beside the problems with the source, and returns the queue of a
// stream's failures.
func (f *IdempotentFunction) newStream(id string, p *StreamProps, most int, found problems) awssqs.Queue {
	found = append(append(found, f.refuseWait("a stream", maxMappingTime)...), p.refuse(most)...)
	found = append(found, f.refuseLate("a record", p.MaxAge)...)
	append(found, refuseID(f.scope, id, failuresID)...).panic(f.scope, id)
	return f.newFailures(id)
}

func (p *StreamProps) refuse(most int) problems {
	found := append(refuseBatches(p.BatchSize, most, p.BatchingWindow), refuseGivenUp(p.MaxAge, p.Retries)...)
	found.when(p.Retention != 0 && p.MaxAge >= p.Retention && p.MaxAge <= 7*day,
		"MaxAge: %s is not less than the %s for which the stream keeps a record; it could disappear before it reaches the failure queue", p.MaxAge, p.Retention)
	found.when(p.Parallelization < 1 || p.Parallelization > 10, "Parallelization: %d is not 1 to 10", p.Parallelization)
	return found
}

// refuseBatches reports batches that Lambda does not gather.
func refuseBatches(size, most int, window time.Duration) (found problems) {
	found.when(size < 1 || size > most, "BatchSize: %d is not 1 to %d", size, most)
	found.when(!wholeSeconds(window, 0, 5*time.Minute), "BatchingWindow: %s is not whole seconds, to 5 min", window)
	return found
}

// refuseGivenUp reports limits of Lambda on when a record is given up.
func refuseGivenUp(age time.Duration, retries int) (found problems) {
	found.when(!wholeSeconds(age, time.Minute, 7*day), "MaxAge: %s is not whole seconds, 1 min to 7 days", age)
	found.when(retries < 1 || retries > 10000, "Retries: %d is not 1 to 10,000", retries)
	return found
}
