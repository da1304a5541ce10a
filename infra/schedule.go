package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsschedulertargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// ScheduleProps are the props of [IdempotentFunction.AddSchedule]. The zero value of
// every field is its default.
type ScheduleProps struct {
	// Detail is the detail of the event, which is encoded as JSON. Default: an
	// empty object.
	Detail map[string]any

	// FlexibleWindow is the time after the scheduled one within which EventBridge
	// Scheduler starts the function: whole minutes, at most 24 h. Default: 0, on
	// time.
	FlexibleWindow time.Duration
}

// AddSchedule invokes the function at the times of a schedule of EventBridge
// Scheduler, for handlers.EventBridge. The event's id is the ARN of the schedule and
// the scheduled time, which stay the same in each attempt; its time is the scheduled
// one. A schedule that is renamed, or whose id changes, has a new ARN: with an old
// one beside it, the function runs twice unless its key function takes the time alone.
//
// Scheduler tries to deliver an event for up to 6 h, and Lambda for 6 h more; see
// [IdempotentFunction.AddTopic] for the queue that AddSchedule returns, and for its
// panics.
func (f *IdempotentFunction) AddSchedule(id string, at awsscheduler.ScheduleExpression, props *ScheduleProps) awssqs.Queue {
	p := filled(props, ScheduleProps{Detail: map[string]any{}})
	found := refuseID(f.scope, id, "")
	found.when(at == nil, "at: it is required")
	found.when(p.FlexibleWindow < 0 || p.FlexibleWindow > day || p.FlexibleWindow%time.Minute != 0, "FlexibleWindow: %s is not whole minutes, to 24 h", p.FlexibleWindow)
	append(found, f.refuseLate("an event", p.FlexibleWindow+2*maxEventAge+f.props.Durable.timeout())...).panic(f.scope, id)
	window := awsscheduler.TimeWindow_Off()
	if p.FlexibleWindow > 0 {
		window = awsscheduler.TimeWindow_Flexible(seconds(p.FlexibleWindow))
	}
	failures := f.failuresOfEvents()
	target := awsschedulertargets.NewLambdaInvoke(f.target(), &awsschedulertargets.ScheduleTargetBaseProps{
		DeadLetterQueue: failures, // for events that Scheduler cannot deliver to Lambda
		Input: awsscheduler.ScheduleTargetInput_FromObject(map[string]any{
			"id":     *awsscheduler.ContextAttribute_ScheduleArn() + "/" + *awsscheduler.ContextAttribute_ScheduledTime(),
			"time":   *awsscheduler.ContextAttribute_ScheduledTime(),
			"detail": p.Detail,
		}),
		MaxEventAge:   seconds(maxEventAge),
		RetryAttempts: jsii.Number(185), // Scheduler's maximum: the age decides
	})
	schedule := awsscheduler.NewSchedule(f.scope, &id, &awsscheduler.ScheduleProps{Schedule: at, Target: target, TimeWindow: window})
	if f.props.Key != nil { // CDK allows its role the queue alone
		f.props.Key.GrantEncryptDecrypt(target.Bind(schedule).Role)
	}
	return failures
}
