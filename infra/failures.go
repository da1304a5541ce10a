package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// failuresID is what the id of a failure queue ends with.
const failuresID = "Failures"

// newFailures makes the queue of what Lambda gives up.
func (f *IdempotentFunction) newFailures(id string) awssqs.Queue {
	queue := awssqs.NewQueue(f.scope, jsii.String(id+failuresID), &awssqs.QueueProps{
		RetentionPeriod: seconds(f.props.FailureRetention),
	})
	f.failures = append(f.failures, queue)
	return queue
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
