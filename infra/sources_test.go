package infra

import (
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
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
		"Kafka": {maxBrokerTime, 0, func(f *IdempotentFunction) awssqs.IQueue { return f.AddKafka("Kafka", msk(nil)) }},
		"HTTP": {30 * time.Second, 0, func(f *IdempotentFunction) awssqs.IQueue {
			f.AddHTTPAPI("HTTP", &HTTPAPIProps{Public: true, Routes: []string{"POST /payments"}})
			return nil
		}},
		"SNS": {0, 6 * time.Hour, func(f *IdempotentFunction) awssqs.IQueue { return f.AddTopic(newTopic(f)) }},
		"EventBridge": {0, 12 * time.Hour, func(f *IdempotentFunction) awssqs.IQueue {
			return f.AddRule(awsevents.NewRule(f.scope, jsii.String("Rule"), &awsevents.RuleProps{
				EventPattern: &awsevents.EventPattern{Source: jsii.Strings("shop")},
			}))
		}},
		"S3": {0, 6 * time.Hour, func(f *IdempotentFunction) awssqs.IQueue {
			return f.AddBucket(awss3.NewBucket(f.scope, jsii.String("Bucket"), nil))
		}},
	}
}

// A source that is nil or repeated would panic in the words of jsii or CDK.
func TestSourcesThatCannotFeedAreRefused(t *testing.T) {
	f := newFunction(t, newStack(), longRecords)
	topic := newTopic(f)
	wantRefusal(t, "", func() { f.AddTopic(topic) })
	wantRefusal(t, "There is already a Construct", func() { f.AddTopic(topic) })
	wantRefusal(t, "topic: it is required", func() { f.AddTopic(nil) })
	wantRefusal(t, "rule: it is required", func() { f.AddRule(nil) })
	wantRefusal(t, "bucket: it is required", func() { f.AddBucket(nil) })
	wantRefusal(t, "stream: it is required", func() { f.AddStream("None", nil, nil) })
	wantRefusal(t, "table: it is required", func() { f.AddTableStream("None", nil, nil) })
	fifo := awssns.NewTopic(f.scope, jsii.String("Orders"), &awssns.TopicProps{Fifo: jsii.Bool(true)})
	wantRefusal(t, "topic: it is FIFO", func() { f.AddTopic(fifo) })
	rule := awsevents.Rule_FromEventRuleArn(f.scope, jsii.String("Rule"), jsii.String("arn:aws:events:eu-west-1:111122223333:rule/bus/placed"))
	wantRefusal(t, "rule: it is imported, and cannot get a target", func() { f.AddRule(rule) })
}
