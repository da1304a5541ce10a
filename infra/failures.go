package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// failuresID is the suffix of the id of a failure queue.
const failuresID = "Failures"

// newFailures creates the queue of the events that Lambda gives up.
func (f *IdempotentFunction) newFailures(id string) awssqs.Queue {
	queue := newLastQueue(f.scope, id+failuresID, f.props.ephemeral(), &awssqs.QueueProps{
		RetentionPeriod: seconds(f.props.FailureRetention),
	})
	f.failures = append(f.failures, queue)
	return queue
}

// newLastQueue creates a queue that contains the last copy of its messages. Unless
// it is ephemeral, the queue and its policy are retained when the stack is deleted
// or when an id in its path changes.
func newLastQueue(scope constructs.Construct, id string, ephemeral bool, props *awssqs.QueueProps) awssqs.Queue {
	removal := removalPolicy(ephemeral)
	props.EnforceSSL, props.RemovalPolicy = jsii.Bool(true), removal
	queue := awssqs.NewQueue(scope, &id, props)
	policy := queue.Node().FindChild(jsii.String("Policy")).(awssqs.QueuePolicy)
	policy.ApplyRemovalPolicy(removal)
	return queue
}

func removalPolicy(ephemeral bool) awscdk.RemovalPolicy {
	if ephemeral {
		return awscdk.RemovalPolicy_DESTROY
	}
	return awscdk.RemovalPolicy_RETAIN
}

// refuseLate reports records that expire while the failure queue may still
// contain their event, which can then be sent again. age is the age at which the
// event enters that queue.
func (f *IdempotentFunction) refuseLate(what string, age time.Duration) (found problems) {
	late := age + f.props.FailureRetention
	event, advice := f.props.expiry()
	found.when(f.props.Retention < late,
		"Retention: %s may come %s late (%s until it is given up, %s in the failure queue), but %s after %s; %s, or lower FailureRetention",
		what, late, age, f.props.FailureRetention, event, f.props.Retention, advice)
	return found
}
