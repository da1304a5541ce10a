package infra

import (
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
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
		"Kafka":     {maxBrokerTime, 0, func(f *IdempotentFunction) awssqs.IQueue { return f.AddKafka("Kafka", msk(nil)) }},
		"Amazon MQ": {maxBrokerTime, 0, func(f *IdempotentFunction) awssqs.IQueue { f.AddMQ("MQ", activeMQ(f)); return nil }},
		"Scheduler": {0, 12 * time.Hour, func(f *IdempotentFunction) awssqs.IQueue { return f.AddSchedule("Nightly", hourly(), nil) }},
		"HTTP": {30 * time.Second, 0, func(f *IdempotentFunction) awssqs.IQueue {
			f.AddHTTPAPI("HTTP", &HTTPAPIProps{Public: true, Routes: []string{"POST /payments"}})
			return nil
		}},
		"REST": {31 * time.Second, 0, func(f *IdempotentFunction) awssqs.IQueue {
			api := awsapigateway.NewRestApi(f.scope, jsii.String("API"), &awsapigateway.RestApiProps{EndpointTypes: regional()})
			f.AddRESTRoutes(api.Root(), &RESTRoutesProps{IntegrationTimeout: 31 * time.Second, Public: true, Routes: []string{"POST /payments"}})
			return nil
		}},
		"ALB": {time.Minute, 0, func(f *IdempotentFunction) awssqs.IQueue {
			f.AddListenerRule("ALB", newListener(f), &ListenerRuleProps{Conditions: anyPath(), Priority: 1, Public: true})
			return nil
		}},
		"URL": {15 * time.Minute, 0, func(f *IdempotentFunction) awssqs.IQueue {
			f.AddURL(&URLProps{Auth: awslambda.FunctionUrlAuthType_NONE})
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

func newStream(f *IdempotentFunction) awskinesis.Stream {
	return awskinesis.NewStream(f.scope, jsii.String("Stream"), nil)
}

func newTopic(f *IdempotentFunction) awssns.Topic {
	return awssns.NewTopic(f.scope, jsii.String("Topic"), nil)
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

// An event that fails for good is not dropped, whatever its source.
func TestAsynchronousSources(t *testing.T) {
	for name, source := range sources() {
		if source.age == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			source.add(newFunction(t, stack, longRecords))
			deployed := synth(t, stack)
			check.Equal(t, only(t, deployed, invocationsType).Properties(), map[string]any{
				"DestinationConfig":        map[string]any{"OnFailure": map[string]any{"Destination": arn("FunctionAsyncFailures")}},
				"FunctionName":             ref("Function"),
				"MaximumEventAgeInSeconds": 6 * 3600.0,
				"MaximumRetryAttempts":     2.0,
				"Qualifier":                "$LATEST",
			})
			breakSources(t, deployed, invocationsType, map[string]template.Rule{"DestinationConfig": template.DLQ})
		})
	}
}

// A function has one configuration of asynchronous invocation.
func TestAsynchronousSourcesShareAQueue(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, func(p *IdempotentFunctionProps) { p.FailureRetention, p.Retention = day, 2*day })
	for _, source := range sources() {
		if source.age > 0 {
			check.Equal(t, *source.add(f).Node().Path(), "S/Function/AsyncFailures")
		}
	}
	deployed := synth(t, stack)
	only(t, deployed, invocationsType)
	check.Equal(t, only(t, deployed, "AWS::SQS::Queue").Properties()["MessageRetentionPeriod"], 86400.0)
}

// An event can be sent again until the failure queue deletes it.
func TestRecordsOutliveAsynchronousEvents(t *testing.T) {
	for name, source := range sources() {
		if source.age == 0 {
			continue
		}
		for _, c := range []struct {
			failures, records time.Duration
			words             string
		}{
			{0, 14*day + source.age, ""},
			{0, 14*day + source.age - time.Second, "an event may come " + (14*day + source.age).String() + " late"},
			{day, day + source.age, ""},
			{day + time.Second, day + source.age, "FailureRetention of 24h0m1s"},
		} {
			t.Run(name+"/"+c.words, func(t *testing.T) {
				f := newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.FailureRetention, p.Retention = c.failures, c.records })
				wantRefusal(t, c.words, func() { source.add(f) })
			})
		}
	}
	// The second source of a function has the queue of the first, and its own age.
	f := newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Retention = 14*day + 6*time.Hour })
	sources()["SNS"].add(f)
	wantRefusal(t, "an event may come 348h0m0s late", func() { sources()["EventBridge"].add(f) })
	// The event of an execution enters the queue as late as ExecutionTimeout.
	const late = 14*day + 6*time.Hour + 24*time.Hour
	for words, retention := range map[string]time.Duration{"": late, "an event may come 366h0m0s late": late - time.Second} {
		f := newFunction(t, newStack(), func(p *IdempotentFunctionProps) {
			p.Durable, p.Retention = &DurableOptions{ExecutionTimeout: 24 * time.Hour}, retention
		})
		wantRefusal(t, words, func() { f.AddTopic(newTopic(f)) })
	}
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
	wantRefusal(t, "queue: it is required", func() { f.AddExistingQueue(nil, nil) })
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
	twice("Queue", func(id *string) {
		f.AddExistingQueue(awssqs.Queue_FromQueueArn(f.scope, id, jsii.String(queueARN)), nil)
	})
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
		"queue: it is in eu-central-1": func() { f.AddExistingQueue(awssqs.Queue_FromQueueArn(newStack(), id, elsewhere("sqs", "a")), nil) },
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

// The function of CDK that sets notifications keeps those of an imported bucket that
// exist.
func TestImportedBucket(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	f.AddBucket(awss3.Bucket_FromBucketName(stack, jsii.String("Uploads"), jsii.String("uploads")))
	notifications := only(t, synth(t, stack), "Custom::S3BucketNotifications").Properties()
	check.Equal(t, notifications["BucketName"], "uploads")
	check.Equal(t, notifications["Managed"], false)
}
