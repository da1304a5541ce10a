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
	"github.com/aws/jsii-runtime-go"
)

// maxEventAge is for how long Lambda delivers an asynchronous event. It is
// Lambda's own default and maximum, stated because records have to outlive it.
const maxEventAge = 6 * time.Hour

// AddTopic invokes the function for each notification of a topic. Lambda tries
// a failed invocation twice again, within 6 h; then the event, with its
// payload, is in the queue that is returned. All asynchronous sources of a
// function share this queue.
//
// It panics with a [*PropsError] if the function's records are over before
// that.
func (f *IdempotentFunction) AddTopic(topic awssns.ITopic) awssqs.Queue {
	failures := f.asynchronous()
	f.Function.AddEventSource(awslambdaeventsources.NewSnsEventSource(topic, &awslambdaeventsources.SnsEventSourceProps{
		DeadLetterQueue: failures, // for what SNS cannot hand to Lambda
	}))
	return failures
}

// AddRule invokes the function for each event that an EventBridge rule
// matches; see [IdempotentFunction.AddTopic].
func (f *IdempotentFunction) AddRule(rule awsevents.Rule) awssqs.Queue {
	failures := f.asynchronous()
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
	failures := f.asynchronous()
	f.Function.AddEventSource(awslambdaeventsources.NewS3EventSource(bucket, &awslambdaeventsources.S3EventSourceProps{
		Events: &[]awss3.EventType{awss3.EventType_OBJECT_CREATED},
	}))
	return failures
}

// asynchronous makes the destination of events that fail for good, without
// which Lambda drops them. A function has one configuration for all of them.
func (f *IdempotentFunction) asynchronous() awssqs.Queue {
	if f.asyncSink != nil {
		return f.asyncSink
	}
	var found problems
	found.when(f.props.Retention < maxEventAge,
		"Retention: an asynchronous event may come %s late, when its record is over after %s", maxEventAge, f.props.Retention)
	found.panic(f.scope, "")
	f.asyncSink = f.newFailures("Async")
	f.Function.ConfigureAsyncInvoke(&awslambda.EventInvokeConfigOptions{
		MaxEventAge:   seconds(maxEventAge),
		OnFailure:     awslambdadestinations.NewSqsDestination(f.asyncSink),
		RetryAttempts: jsii.Number(2),
	})
	return f.asyncSink
}
