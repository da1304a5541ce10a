package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// failuresID is what the id of a failure queue ends with.
const failuresID = "Failures"

// newFailures makes the queue of what Lambda gives up.
func (f *IdempotentFunction) newFailures(id string) awssqs.Queue {
	queue := newLastQueue(f.scope, id+failuresID, f.props.Table.props.Ephemeral, &awssqs.QueueProps{
		RetentionPeriod: seconds(f.props.FailureRetention),
	})
	f.failures = append(f.failures, queue)
	return queue
}

// newLastQueue makes a queue that holds the last copy of what is in it: unless
// its stage is one that comes and goes, it stays when its stack goes, and when
// its construct or one above it gets another id. Its policy stays with it.
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

// refuseLate compares the records with the last moment at which somebody may
// send again what is in a failure queue. It enters that queue at an age.
func (f *IdempotentFunction) refuseLate(what string, age time.Duration) problems {
	var found problems
	late := age + f.props.FailureRetention
	found.when(f.props.Retention < late,
		"Retention: %s may come %s late (%s until it is given up, %s in the failure queue), when its record is over after %s; "+
			"raise Config.Retention in the function and IdempotentFunctionProps.Retention, or lower FailureRetention",
		what, late, age, f.props.FailureRetention, f.props.Retention)
	return found
}
