package infra

import (
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

func newStream(f *IdempotentFunction) awskinesis.Stream {
	return awskinesis.NewStream(f.scope, jsii.String("Stream"), nil)
}

// By default Lambda retries a batch until its records expire, and blocks the shard.
func TestStreams(t *testing.T) {
	for _, name := range []string{"Kinesis", "DynamoDB"} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			sources()[name].add(newFunction(t, stack, longRecords))
			deployed := synth(t, stack)
			got := only(t, deployed, mappingType).Properties()
			delete(got, "EventSourceArn")
			check.Equal(t, got, map[string]any{
				"BatchSize":                      100.0,
				"BisectBatchOnFunctionError":     true,
				"DestinationConfig":              map[string]any{"OnFailure": map[string]any{"Destination": arn("FunctionClicksFailures")}},
				"FunctionName":                   ref("Function"),
				"FunctionResponseTypes":          []any{"ReportBatchItemFailures"},
				"MaximumBatchingWindowInSeconds": 0.0,
				"MaximumRecordAgeInSeconds":      43200.0,
				"MaximumRetryAttempts":           10.0,
				"ParallelizationFactor":          1.0,
				"StartingPosition":               "TRIM_HORIZON",
			})
		})
	}
}

// CDK refuses props in words of its own, which are those of a PropsError.
func TestStreamsRefuse(t *testing.T) {
	wantRefusals(t, map[string]StreamProps{
		"StreamProps: Maximum batch size": {BatchSize: 10001},
		"maxRecordAge must be between":    {MaxAge: 30 * time.Second},
	}, func(props StreamProps) {
		f := newFunction(t, newStack(), longRecords)
		f.AddStream("Clicks", awskinesis.Stream_FromStreamArn(f.scope, jsii.String("Stream"), jsii.String(streamARN)), &props)
	})
}

// A source that is nil or repeated would panic in the words of jsii or CDK.
func TestSourcesThatCannotFeedAreRefused(t *testing.T) {
	f := newFunction(t, newStack(), longRecords)
	stream := newStream(f)
	wantRefusal(t, "", func() { f.AddStream("Once", stream, nil) })
	wantRefusal(t, "There is already a Construct", func() { f.AddStream("Twice", stream, nil) })
	wantRefusal(t, "stream: it is required", func() { f.AddStream("None", nil, nil) })
	wantRefusal(t, "table: it is required", func() { f.AddTableStream("None", nil, nil) })
}

const streamARN = "arn:aws:kinesis:eu-west-1:111122223333:stream/clicks"

func newTable(f *IdempotentFunction, stream awsdynamodb.StreamViewType) awsdynamodb.TableV2 {
	return awsdynamodb.NewTableV2(f.scope, jsii.String("Table"), &awsdynamodb.TablePropsV2{DynamoStream: stream, PartitionKey: stringKey("id")})
}

// A record that the stream deletes before Lambda gives it up reaches no failure queue.
func TestMaxAgeIsLessThanTheRetentionOfTheStream(t *testing.T) {
	for name, c := range map[string]struct {
		add   func(*IdempotentFunction)
		words string
	}{
		"by default": {func(f *IdempotentFunction) { f.AddStream("Clicks", newStream(f), &StreamProps{MaxAge: day}) }, "given up at 24h0m0s, and the stream keeps it for 24h0m0s"},
		"a second less": {func(f *IdempotentFunction) {
			f.AddStream("Clicks", newStream(f), &StreamProps{MaxAge: day - time.Second})
		}, ""},
		"a longer stream": {func(f *IdempotentFunction) {
			f.AddStream("Clicks", awskinesis.NewStream(f.scope, jsii.String("Stream"), &awskinesis.StreamProps{RetentionPeriod: awscdk.Duration_Hours(jsii.Number(48))}), &StreamProps{MaxAge: day})
		}, ""},
		"an import": {func(f *IdempotentFunction) {
			f.AddStream("Clicks", awskinesis.Stream_FromStreamArn(f.scope, jsii.String("Stream"), jsii.String(streamARN)), &StreamProps{MaxAge: 2 * day})
		}, ""},
		"a table": {func(f *IdempotentFunction) {
			f.AddTableStream("Changes", newTable(f, awsdynamodb.StreamViewType_KEYS_ONLY), &StreamProps{MaxAge: day})
		}, "the stream keeps it for 24h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			c.add(newFunction(t, stack, longRecords))
			wantFinding(t, c.words, stack)
		})
	}
}
