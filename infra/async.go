package infra

import (
	"time"

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

// maxEventAge is for how long Lambda delivers an asynchronous event, and
// EventBridge hands one to Lambda. It is Lambda's own default and maximum,
// stated because records have to outlive it.
const maxEventAge = 6 * time.Hour

// AddTopic invokes the function for each notification of a topic. Lambda tries
// a failed invocation twice again, within 6 h; then the event, with its
// payload, is in the queue that is returned. All asynchronous sources of a
// function share this queue, which stays when its stack goes, unless the table
// is Ephemeral.
//
// It panics with a [*PropsError] if the function's records are over before an
// event that is sent again out of this queue: FailureRetention after the 6 h.
func (f *IdempotentFunction) AddTopic(topic awssns.ITopic) awssqs.Queue {
	failures := f.asynchronous(maxEventAge, "topic", topic)
	f.Function.AddEventSource(awslambdaeventsources.NewSnsEventSource(topic, &awslambdaeventsources.SnsEventSourceProps{
		DeadLetterQueue: failures, // for what SNS cannot hand to Lambda
	}))
	return failures
}

// AddRule invokes the function for each event that an EventBridge rule
// matches; see [IdempotentFunction.AddTopic]. EventBridge takes up to 6 h to
// hand an event over, and Lambda 6 h more.
func (f *IdempotentFunction) AddRule(rule awsevents.Rule) awssqs.Queue {
	failures := f.asynchronous(2*maxEventAge, "rule", rule)
	rule.AddTarget(awseventstargets.NewLambdaFunction(f.Function, &awseventstargets.LambdaFunctionProps{
		DeadLetterQueue: failures, // for what EventBridge cannot hand to Lambda
		MaxEventAge:     seconds(maxEventAge),
	}))
	return failures
}

// AddBucket invokes the function for each object that is created in a bucket;
// see [IdempotentFunction.AddTopic]. CDK sets a bucket's notifications by a
// function of its own.
func (f *IdempotentFunction) AddBucket(bucket awss3.Bucket) awssqs.Queue {
	failures := f.asynchronous(maxEventAge, "bucket", bucket)
	f.Function.AddEventSource(awslambdaeventsources.NewS3EventSource(bucket, &awslambdaeventsources.S3EventSourceProps{
		Events: &[]awss3.EventType{awss3.EventType_OBJECT_CREATED},
	}))
	return failures
}

// asynchronous makes the destination of events that fail for good, without
// which Lambda drops them: at the given age of an event, at the latest. A
// function has one configuration for all of them.
func (f *IdempotentFunction) asynchronous(age time.Duration, name string, source constructs.IConstruct) awssqs.Queue {
	f.refuseLate("an event", age).panic(f.scope, "")
	f.refuseSource(name, source).panic(f.scope, "")
	if f.asyncSink != nil {
		return f.asyncSink
	}
	const id = "Async"
	refuseID(f.scope, id, failuresID).panic(f.scope, id)
	f.asyncSink = f.newFailures(id)
	f.Function.ConfigureAsyncInvoke(&awslambda.EventInvokeConfigOptions{
		MaxEventAge:   seconds(maxEventAge),
		OnFailure:     awslambdadestinations.NewSqsDestination(f.asyncSink),
		RetryAttempts: jsii.Number(2),
	})
	return f.asyncSink
}
