package infra

import (
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/template"
)

// What Lambda would do by itself is try a batch until its records expire,
// and block the shard.
func TestStreams(t *testing.T) {
	for name, add := range map[string]func(*IdempotentFunction){
		"Kinesis": func(f *IdempotentFunction) {
			f.AddStream("Clicks", awskinesis.NewStream(f.scope, jsii.String("Stream"), nil), nil)
		},
		"DynamoDB": func(f *IdempotentFunction) {
			f.AddTableStream("Clicks", awsdynamodb.NewTableV2(f.scope, jsii.String("Table"), &awsdynamodb.TablePropsV2{
				DynamoStream: awsdynamodb.StreamViewType_NEW_IMAGE, PartitionKey: stringKey("id"),
			}), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			add(newFunction(t, stack, longRecords))
			deployed := synth(t, stack)
			got := only(t, deployed, mappingType).Properties()
			delete(got, "EventSourceArn")
			want := map[string]any{
				"BatchSize":                      100.0,
				"BisectBatchOnFunctionError":     true,
				"DestinationConfig":              map[string]any{"OnFailure": map[string]any{"Destination": map[string]any{"Fn::GetAtt": []any{"FunctionClicksFailures", "Arn"}}}},
				"FunctionName":                   map[string]any{"Ref": "Function"},
				"FunctionResponseTypes":          []any{"ReportBatchItemFailures"},
				"MaximumBatchingWindowInSeconds": 0.0,
				"MaximumRecordAgeInSeconds":      86400.0,
				"MaximumRetryAttempts":           10.0,
				"ParallelizationFactor":          1.0,
				"StartingPosition":               "TRIM_HORIZON",
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %v", got)
			}
			breakSources(t, deployed, mappingType, map[string]template.Rule{
				"FunctionResponseTypes": template.Report, "DestinationConfig": template.DLQ, "BisectBatchOnFunctionError": template.DLQ,
				"MaximumRecordAgeInSeconds": template.DLQ, "MaximumRetryAttempts": template.DLQ,
			})
		})
	}
}

// breakSources takes properties away, each of which a rule must miss.
func breakSources(t *testing.T, deployed template.Template, kind string, properties map[string]template.Rule) {
	t.Helper()
	for property, rule := range properties {
		if found := deployed.Problems(rule, template.Actions{}); len(found) > 0 {
			t.Error(found)
		}
		broken := deployed.Clone()
		delete(only(t, broken, kind).Properties(), property)
		if len(broken.Problems(rule, template.Actions{})) == 0 {
			t.Errorf("without %s nobody notices; this rule should: %s", property, rule)
		}
	}
}

func TestStreamsRefuse(t *testing.T) {
	for words, props := range map[string]StreamProps{
		"BatchSize: 10001 is not":         {BatchSize: 10001},
		"BatchingWindow: 6m0s is not":     {BatchingWindow: 6 * time.Minute},
		"MaxAge: 30s is not":              {MaxAge: 30 * time.Second},
		"Parallelization: 11 is not":      {Parallelization: 11},
		"Retries: -1 is not":              {Retries: -1},
		"a record may come 360h0m1s late": {MaxAge: day + time.Second},
		"24h0m1s until it is given up":    {MaxAge: day + time.Second},
	} {
		t.Run(words, func(t *testing.T) {
			f := newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Retention = 15 * day })
			stream := awskinesis.NewStream(f.scope, jsii.String("Stream"), nil)
			wantRefusal(t, words, func() { f.AddStream("Clicks", stream, &props) })
		})
	}
	f := newFunction(t, newStack(), longRecords)
	wantRefusal(t, "BatchSize: 1001 is not 1 to 1000", func() { f.AddTableStream("Clicks", nil, &StreamProps{BatchSize: 1001}) })
}
