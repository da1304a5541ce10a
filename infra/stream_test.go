package infra

import (
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
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
			breakSources(t, deployed, mappingType, map[string]template.Rule{
				"FunctionResponseTypes": template.Report, "DestinationConfig": template.DLQ, "BisectBatchOnFunctionError": template.DLQ,
				"MaximumRecordAgeInSeconds": template.DLQ, "MaximumRetryAttempts": template.DLQ,
			})
		})
	}
}

func TestStreamsRefuse(t *testing.T) {
	wantRefusals(t, map[string]StreamProps{
		"BatchSize: 10001 is not":         {BatchSize: 10001},
		"BatchingWindow: 6m0s is not":     {BatchingWindow: 6 * time.Minute},
		"MaxAge: 30s is not":              {MaxAge: 30 * time.Second},
		"Parallelization: 11 is not":      {Parallelization: 11},
		"Retries: -1 is not":              {Retries: -1},
		"Retention: 23h0m0s is not whole": {Retention: 23 * time.Hour},
		"a record may come 348h0m1s late": {MaxAge: 12*time.Hour + time.Second},
		"12h0m1s until it is given up":    {MaxAge: 12*time.Hour + time.Second},
		"MaxAge: 168h0m1s is not":         {MaxAge: 7*day + time.Second},
		"MaxAge: 168h0m0s is not less":    {MaxAge: 7 * day, Retention: 7 * day},
	}, func(props StreamProps) {
		f := newFunction(t, newStack(), func(p *IdempotentFunctionProps) {
			p.Retention = 14*day + 12*time.Hour
			if props.MaxAge > day {
				p.Retention = 400 * day
			}
		})
		f.AddStream("Clicks", awskinesis.Stream_FromStreamArn(f.scope, jsii.String("Stream"), jsii.String(streamARN)), &props)
	})
	f := newFunction(t, newStack(), longRecords)
	wantRefusal(t, "BatchSize: 1001 is not 1 to 1000", func() {
		f.AddTableStream("Clicks", newTable(f, awsdynamodb.StreamViewType_NEW_IMAGE), &StreamProps{BatchSize: 1001})
	})
}

const streamARN = "arn:aws:kinesis:eu-west-1:111122223333:stream/clicks"

func newTable(f *IdempotentFunction, stream awsdynamodb.StreamViewType) awsdynamodb.TableV2 {
	return awsdynamodb.NewTableV2(f.scope, jsii.String("Table"), &awsdynamodb.TablePropsV2{DynamoStream: stream, PartitionKey: stringKey("id")})
}

// A record that the stream deletes before Lambda gives it up reaches no failure queue.
func TestMaxAgeIsLessThanTheRetentionOfTheStream(t *testing.T) {
	for name, c := range map[string]struct {
		kept  float64 // of a stream of this app, in hours
		props StreamProps
		words string
	}{
		"by default":             {0, StreamProps{MaxAge: day}, "MaxAge: 24h0m0s is not less than the 24h0m0s"},
		"a second less":          {0, StreamProps{MaxAge: day - time.Second}, ""},
		"a longer stream":        {48, StreamProps{MaxAge: day}, ""},
		"a wrong declaration":    {48, StreamProps{Retention: 72 * time.Hour}, "Retention: 72h0m0s is declared, and AWS will have 48h0m0s"},
		"a right declaration":    {48, StreamProps{Retention: 48 * time.Hour}, ""},
		"an import":              {-1, StreamProps{MaxAge: 2 * day}, ""},
		"an import that is kept": {-1, StreamProps{MaxAge: day, Retention: day}, "MaxAge: 24h0m0s is not less than the 24h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t, newStack(), longRecords)
			var stream awskinesis.IStream
			switch c.kept {
			case -1:
				stream = awskinesis.Stream_FromStreamArn(f.scope, jsii.String("Stream"), jsii.String(streamARN))
			case 0:
				stream = newStream(f)
			default:
				stream = awskinesis.NewStream(f.scope, jsii.String("Stream"), &awskinesis.StreamProps{RetentionPeriod: awscdk.Duration_Hours(&c.kept)})
			}
			wantRefusal(t, c.words, func() { f.AddStream("Clicks", stream, &c.props) })
		})
	}
	f := newFunction(t, newStack(), longRecords)
	table := newTable(f, awsdynamodb.StreamViewType_KEYS_ONLY)
	wantRefusal(t, "MaxAge: 24h0m0s is not less than the 24h0m0s", func() { f.AddTableStream("Changes", table, &StreamProps{MaxAge: day}) })
	f = newFunction(t, newStack(), longRecords)
	wantRefusal(t, "Retention: 48h0m0s is declared", func() { f.AddTableStream("Changes", table, &StreamProps{Retention: 2 * day}) })
}
