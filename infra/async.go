package infra

import (
	"cmp"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdadestinations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/appcheck"
)

// FailureQueue returns the queue of the asynchronous events that the function gives up: those of a
// topic, a rule, a bucket or a schedule, which CDK's own constructs add. Lambda retries a failed
// invocation twice, within 6 h, and then puts the event with its payload into this queue, which
// the function has once for all its sources. Pass it to a topic or a rule as its dead-letter queue
// as well. It is retained when its stack is deleted, unless the table is Ephemeral. Lambda offers
// no destinations for durable functions: the queue is then the function's dead-letter queue, and
// receives the event alone.
//
// FailureQueue panics with a [*PropsError] if the function has a configuration of asynchronous
// invocations. [Check] finds a function without the queue, and records that expire before an event
// is sent again from it. It does not look at dead-letter queues of topics, rules and schedules.
func (f *IdempotentFunction) FailureQueue() awssqs.Queue {
	failures := f.failuresOfEvents()
	allowSender(f.props.Key, "events")
	allowSender(f.props.Key, "sns")
	return failures
}

// failuresOfEvents returns the queue of events that Lambda would otherwise drop, and creates
// it at the first call.
func (f *IdempotentFunction) failuresOfEvents() awssqs.Queue {
	if f.asyncSink != nil {
		return f.asyncSink
	}
	const id = "Async"
	found := refuseID(f.scope, id, failuresID)
	found.when(f.Target().Node().TryFindChild(jsii.String("EventInvokeConfig")) != nil,
		"function: it has OnFailure, OnSuccess, MaxEventAge or RetryAttempts, and Lambda allows one such configuration; leave them out, because FailureQueue sets them")
	found.panic(f.scope, id)
	f.asyncSink = f.newFailures(id)
	invocations := &awslambda.EventInvokeConfigOptions{MaxEventAge: seconds(appcheck.MaxEventAge), RetryAttempts: jsii.Number(2)}
	if f.props.Durable == nil {
		invocations.OnFailure = awslambdadestinations.NewSqsDestination(f.asyncSink)
	} else {
		f.asyncSink.GrantSendMessages(f.Function)
		function := f.Function.Node().DefaultChild().(awslambda.CfnFunction)
		function.SetDeadLetterConfig(&awslambda.CfnFunction_DeadLetterConfigProperty{TargetArn: f.asyncSink.QueueArn()})
	}
	f.Target().ConfigureAsyncInvoke(invocations)
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
