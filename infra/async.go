package infra

import (
	"cmp"
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdadestinations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// maxEventAge is the time for which Lambda retries an asynchronous event, its default and
// maximum, and for which EventBridge tries to deliver one.
const maxEventAge = 6 * time.Hour

// AddTopic invokes the function for each notification of a topic. Lambda retries a failed
// invocation twice, within 6 h, and then puts the event with its payload into the queue that
// AddTopic returns. All asynchronous sources of a function share this queue. It is retained
// when its stack is deleted, unless the table is Ephemeral. Lambda offers no destinations for
// durable functions: the queue is then the function's dead-letter queue, and receives the
// event alone.
//
// AddTopic panics with a [*PropsError] for a FIFO topic, which SNS delivers to queues alone.
// [Check] finds records that expire before an event of the failure queue is sent again.
func (f *IdempotentFunction) AddTopic(topic awssns.ITopic) awssqs.Queue {
	var found problems
	found.when(topic != nil && *topic.Fifo(), "topic: it is FIFO, which SNS does not deliver to functions; subscribe a FIFO queue, and feed the function from it")
	return f.asynchronous("topic", topic == nil, found, func(failures awssqs.Queue) {
		allowSender(f.props.Key, "sns")
		f.target().AddEventSource(awslambdaeventsources.NewSnsEventSource(topic, &awslambdaeventsources.SnsEventSourceProps{
			DeadLetterQueue: failures, // for events that SNS cannot deliver to Lambda
		}))
	})
}

// AddRule invokes the function for each event that an EventBridge rule matches; see
// [IdempotentFunction.AddTopic]. EventBridge tries to deliver an event for up to 6 h, and
// Lambda for 6 h more. AddRule also panics for an imported rule, because CloudFormation has
// the targets of a rule in the rule itself. The event bus of a rule may be an import.
func (f *IdempotentFunction) AddRule(rule awsevents.IRule) awssqs.Queue {
	own, created := rule.(awsevents.Rule)
	var found problems
	found.when(rule != nil && !created, "rule: it is imported, and cannot get a target; create one with the same pattern on the same event bus")
	return f.asynchronous("rule", rule == nil, found, func(failures awssqs.Queue) {
		allowSender(f.props.Key, "events")
		own.AddTarget(awseventstargets.NewLambdaFunction(f.target(), &awseventstargets.LambdaFunctionProps{
			DeadLetterQueue: failures, // for events that EventBridge cannot deliver to Lambda
			MaxEventAge:     seconds(maxEventAge),
		}))
	})
}

// AddBucket invokes the function for each object that is created in a bucket; see
// [IdempotentFunction.AddTopic]. CDK deploys a function of its own, which adds to the
// notifications of an imported bucket. S3 refuses two of them for the same objects.
func (f *IdempotentFunction) AddBucket(bucket awss3.IBucket) awssqs.Queue {
	return f.asynchronous("bucket", bucket == nil, nil, func(awssqs.Queue) {
		f.target().AddEventSource(awslambdaeventsources.NewS3EventSourceV2(bucket, &awslambdaeventsources.S3EventSourceProps{
			Events: &[]awss3.EventType{awss3.EventType_OBJECT_CREATED},
		}))
	})
}

// asynchronous adds a source, and returns the failure queue, which a function has once for all
// its sources.
func (f *IdempotentFunction) asynchronous(name string, absent bool, found problems, add func(failures awssqs.Queue)) awssqs.Queue {
	found.when(absent, "%s: it is required", name)
	found.panic(f.scope, "")
	failures := f.failuresOfEvents()
	return build(f.scope, "", name, func() awssqs.Queue {
		add(failures)
		return failures
	})
}

// failuresOfEvents returns the queue of events that Lambda would otherwise drop, and creates
// it at the first call.
func (f *IdempotentFunction) failuresOfEvents() awssqs.Queue {
	if f.asyncSink != nil {
		return f.asyncSink
	}
	const id = "Async"
	found := refuseID(f.scope, id, failuresID)
	found.when(f.target().Node().TryFindChild(jsii.String("EventInvokeConfig")) != nil,
		"function: it has OnFailure, OnSuccess, MaxEventAge or RetryAttempts, and Lambda allows one such configuration; leave them out, because this source sets them")
	found.panic(f.scope, id)
	f.asyncSink = f.newFailures(id)
	invocations := &awslambda.EventInvokeConfigOptions{MaxEventAge: seconds(maxEventAge), RetryAttempts: jsii.Number(2)}
	if f.props.Durable == nil {
		invocations.OnFailure = awslambdadestinations.NewSqsDestination(f.asyncSink)
	} else {
		f.asyncSink.GrantSendMessages(f.Function)
		function := f.Function.Node().DefaultChild().(awslambda.CfnFunction)
		function.SetDeadLetterConfig(&awslambda.CfnFunction_DeadLetterConfigProperty{TargetArn: f.asyncSink.QueueArn()})
	}
	f.target().ConfigureAsyncInvoke(invocations)
	if f.props.Live != nil && f.props.Durable == nil { // events from before it had an alias
		f.Function.ConfigureAsyncInvoke(invocations)
	}
	return f.asyncSink
}

// failuresID is the suffix of the id of a failure queue.
const failuresID = "Failures"

// newFailures creates the queue of the events that Lambda gives up. Until the end of its retention,
// an operator can send an event again.
func (f *IdempotentFunction) newFailures(id string) awssqs.Queue {
	return newLastQueue(f.scope, id+failuresID, f.props.store().ephemeral(), &awssqs.QueueProps{
		EncryptionMasterKey: f.props.Key, RetentionPeriod: seconds(maxKept),
	})
}

// newLastQueue creates a queue that contains the last copy of its messages. Unless it is
// ephemeral, or its props say so, the queue and its policy are retained when the stack is deleted
// or when an id in its path changes.
func newLastQueue(scope constructs.Construct, id string, ephemeral bool, props *awssqs.QueueProps) awssqs.Queue {
	props.EnforceSSL = cmp.Or(props.EnforceSSL, jsii.Bool(true))
	props.RemovalPolicy = cmp.Or(props.RemovalPolicy, removalPolicy(ephemeral))
	queue := awssqs.NewQueue(scope, &id, props)
	if policy, made := queue.Node().TryFindChild(jsii.String("Policy")).(awssqs.QueuePolicy); made {
		policy.ApplyRemovalPolicy(props.RemovalPolicy)
	}
	return queue
}

func removalPolicy(ephemeral bool) awscdk.RemovalPolicy {
	if ephemeral {
		return awscdk.RemovalPolicy_DESTROY
	}
	return awscdk.RemovalPolicy_RETAIN
}

// refuseExpired reports records that expire before an event that comes so late, for a reason.
func (f *IdempotentFunction) refuseExpired(late time.Duration, format string, reason ...any) (found problems) {
	event, advice := f.props.store().expiry()
	found.when(f.props.Retention < late, "Retention: %s, but %s after %s; %s", fmt.Sprintf(format, reason...), event, f.props.Retention, advice)
	return found
}
