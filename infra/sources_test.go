package infra

import (
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

const (
	mappingType     = "AWS::Lambda::EventSourceMapping"
	invocationsType = "AWS::Lambda::EventInvokeConfig"
)

// A source is a kind of event source.
type source struct {
	longest time.Duration // the time for which it waits for an execution; 0 if it does not
	age     time.Duration // of an event that Lambda gives up; 0 of synchronous sources
	add     func(*IdempotentFunction) awssqs.IQueue
}

func sources() map[string]source {
	return map[string]source{
		"SQS": {15 * time.Minute, 0, func(f *IdempotentFunction) awssqs.IQueue { return f.AddQueue("SQS", nil).DeadLetters }},
		"Kinesis": {15 * time.Minute, 0, func(f *IdempotentFunction) awssqs.IQueue {
			return f.AddStream("Clicks", newStream(f), nil)
		}},
		"DynamoDB": {15 * time.Minute, 0, func(f *IdempotentFunction) awssqs.IQueue {
			return f.AddTableStream("Clicks", newTable(f, awsdynamodb.StreamViewType_NEW_IMAGE), nil)
		}},
		"Kafka": {14 * time.Minute, 0, func(f *IdempotentFunction) awssqs.IQueue { return f.AddKafka("Kafka", msk(nil)) }},
		"HTTP": {30 * time.Second, 0, func(f *IdempotentFunction) awssqs.IQueue {
			f.AddHTTPAPI("HTTP", &HTTPAPIProps{Public: true, Routes: []string{"POST /payments"}})
			return nil
		}},
		"SNS": {0, 6 * time.Hour, func(f *IdempotentFunction) awssqs.IQueue { return addTopic(f) }},
		"EventBridge": {0, 12 * time.Hour, func(f *IdempotentFunction) awssqs.IQueue {
			failures := f.FailureQueue()
			awsevents.NewRule(f.scope, jsii.String("Rule"), &awsevents.RuleProps{
				EventPattern: &awsevents.EventPattern{Source: jsii.Strings("shop")},
				Targets: &[]awsevents.IRuleTarget{awseventstargets.NewLambdaFunction(f.Target(), &awseventstargets.LambdaFunctionProps{
					DeadLetterQueue: failures, MaxEventAge: seconds(6 * time.Hour),
				})},
			})
			return failures
		}},
		"S3": {0, 6 * time.Hour, func(f *IdempotentFunction) awssqs.IQueue {
			failures, bucket := f.FailureQueue(), awss3.NewBucket(f.scope, jsii.String("Bucket"), nil)
			f.Target().AddEventSource(awslambdaeventsources.NewS3EventSourceV2(bucket, &awslambdaeventsources.S3EventSourceProps{
				Events: &[]awss3.EventType{awss3.EventType_OBJECT_CREATED},
			}))
			return failures
		}},
	}
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
