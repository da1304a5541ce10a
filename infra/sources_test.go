package infra

import (
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/template"
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

// breakSources deletes each property, which its rule must notice.
func breakSources(t *testing.T, deployed template.Template, kind string, properties map[string]template.Rule) {
	t.Helper()
	for property, rule := range properties {
		obeys(t, deployed, rule)
		broken := deployed.Clone()
		delete(only(t, broken, kind).Properties(), property)
		if len(broken.Problems(rule, template.Actions{})) == 0 {
			t.Errorf("a template without %s keeps the rule %q", property, rule)
		}
	}
}

// A source that is nil or repeated would panic in the words of jsii or CDK.
func TestSourcesThatCannotFeedAreRefused(t *testing.T) {
	f := newFunction(t, newStack(), longRecords)
	topic, stream := newTopic(f), newStream(f)
	wantRefusal(t, "", func() { f.AddTopic(topic) })
	wantRefusal(t, "topic: S/Function/Topic already feeds this function", func() { f.AddTopic(topic) })
	wantRefusal(t, "", func() { f.AddStream("First", stream, nil) })
	wantRefusal(t, "stream: S/Function/Stream already feeds this function", func() { f.AddStream("Second", stream, nil) })
	wantRefusal(t, "topic: it is required", func() { f.AddTopic(nil) })
	wantRefusal(t, "rule: it is required", func() { f.AddRule(nil) })
	wantRefusal(t, "bucket: it is required", func() { f.AddBucket(nil) })
	wantRefusal(t, "stream: it is required", func() { f.AddStream("None", nil, nil) })
	wantRefusal(t, "table: it is required", func() { f.AddTableStream("None", nil, nil) })
	table := newTable(f, "")
	wantRefusal(t, "table: it has no stream", func() { f.AddTableStream("None", table, nil) })
	fifo := awssns.NewTopic(f.scope, jsii.String("Orders"), &awssns.TopicProps{Fifo: jsii.Bool(true)})
	wantRefusal(t, "topic: it is FIFO", func() { f.AddTopic(fifo) })
	rule := awsevents.Rule_FromEventRuleArn(f.scope, jsii.String("Rule"), jsii.String("arn:aws:events:eu-west-1:111122223333:rule/bus/placed"))
	wantRefusal(t, "rule: it is imported, and cannot get a target", func() { f.AddRule(rule) })
	within := constructs.NewConstruct(f.scope, jsii.String("Within"))
	wantRefusal(t, `id: "Topic" is already in use in S/Function/Function`, func() { f.AddTopic(awssns.NewTopic(within, jsii.String("Topic"), nil)) })
}

// Two constructs for one ARN would become two mappings, which Lambda refuses, or one
// subscription of two owners.
func TestASourceFeedsAFunctionOnce(t *testing.T) {
	f := newFunction(t, newStack(), longRecords)
	twice := func(name string, add func(id *string)) {
		t.Helper()
		wantRefusal(t, "", func() { add(jsii.String(name + "1")) })
		wantRefusal(t, "S/Function/"+name+"2 already feeds this function", func() { add(jsii.String(name + "2")) })
	}
	twice("Stream", func(id *string) {
		f.AddStream(*id, awskinesis.Stream_FromStreamArn(f.scope, id, jsii.String(streamARN)), nil)
	})
	twice("Topic", func(id *string) {
		f.AddTopic(awssns.Topic_FromTopicArn(f.scope, id, jsii.String("arn:aws:sns:eu-west-1:111122223333:orders")))
	})
	twice("Bucket", func(id *string) { f.AddBucket(awss3.Bucket_FromBucketName(f.scope, id, jsii.String("orders"))) })
	twice("Changes", func(id *string) {
		f.AddTableStream(*id, awsdynamodb.TableV2_FromTableAttributes(f.scope, id, &awsdynamodb.TableAttributesV2{
			TableName: jsii.String("orders"), TableStreamArn: jsii.String("arn:aws:dynamodb:eu-west-1:111122223333:table/orders/stream/x"),
		}), nil)
	})
	topic := newTopic(f)
	wantRefusal(t, "", func() { f.AddTopic(topic) })
	wantRefusal(t, "already feeds this function", func() { f.AddTopic(awssns.Topic_FromTopicArn(f.scope, jsii.String("Again"), topic.TopicArn())) })
}

func TestSourcesAreInTheRegionOfTheFunction(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	elsewhere := func(service, name string) *string {
		return jsii.String("arn:aws:" + service + ":eu-central-1:111122223333:" + name)
	}
	id := jsii.String("There")
	for words, add := range map[string]func(){
		"stream: it is in eu-central-1": func() {
			f.AddStream("A", awskinesis.Stream_FromStreamArn(stack, id, elsewhere("kinesis", "stream/a")), nil)
		},
		"topic: it is in eu-central-1": func() { f.AddTopic(awssns.Topic_FromTopicArn(f.scope, id, elsewhere("sns", "a"))) },
	} {
		wantRefusal(t, words, add)
	}
	far := awscdk.NewStack(awscdk.NewApp(nil), jsii.String("Far"), &awscdk.StackProps{Env: &awscdk.Environment{Region: jsii.String("eu-central-1")}})
	wantRefusal(t, "Outbox: it is in eu-central-1, and the function in eu-west-1", func() {
		newRelay(t, newStack(), func(p *RelayProps) { p.Outbox = NewOutbox(far, "Outbox", nil) })
	})
	anywhere := awscdk.NewStack(awscdk.NewApp(nil), jsii.String("S"), nil)
	wantRefusal(t, "", func() { f.AddStream("B", awskinesis.NewStream(anywhere, jsii.String("Stream"), nil), nil) })
}
