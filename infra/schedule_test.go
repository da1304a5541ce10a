package infra

import (
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

func hourly() awsscheduler.ScheduleExpression {
	return awsscheduler.ScheduleExpression_Rate(awscdk.Duration_Hours(jsii.Number(1)))
}

// The id of the event stays the same in each attempt of Scheduler and of Lambda.
func TestSchedule(t *testing.T) {
	stack := newStack()
	newFunction(t, stack, longRecords).AddSchedule("Report", hourly(), &ScheduleProps{
		Detail: map[string]any{"report": "daily"}, FlexibleWindow: 15 * time.Minute,
	})
	deployed := synth(t, stack)
	got := only(t, deployed, "AWS::Scheduler::Schedule").Properties()
	check.Equal(t, got["FlexibleTimeWindow"], map[string]any{"MaximumWindowInMinutes": 15.0, "Mode": "FLEXIBLE"})
	target := got["Target"].(map[string]any)
	check.Equal(t, target["Arn"], arn("Function"))
	check.Equal(t, target["DeadLetterConfig"], map[string]any{"Arn": arn("FunctionAsyncFailures")})
	check.Equal(t, target["RetryPolicy"], map[string]any{"MaximumEventAgeInSeconds": 6 * 3600.0, "MaximumRetryAttempts": 185.0})
	check.Equal(t, target["Input"],
		`{"detail":{"report":"daily"},"id":"<aws.scheduler.schedule-arn>/<aws.scheduler.scheduled-time>","time":"<aws.scheduler.scheduled-time>"}`)
	obeys(t, deployed, template.DLQ, template.Kept, template.TLS)
}

func TestScheduleRefuses(t *testing.T) {
	f := newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Retention = 14*day + 13*time.Hour })
	wantRefusal(t, "at: it is required", func() { f.AddSchedule("None", nil, nil) })
	wantRefusal(t, "FlexibleWindow: 1.5s is not", func() { f.AddSchedule("Short", hourly(), &ScheduleProps{FlexibleWindow: 1500 * time.Millisecond}) })
	wantRefusal(t, "", func() { f.AddSchedule("OnTime", hourly(), &ScheduleProps{FlexibleWindow: time.Hour}) })
	wantRefusal(t, "an event may come 349h1m0s late", func() { f.AddSchedule("Late", hourly(), &ScheduleProps{FlexibleWindow: 61 * time.Minute}) })
}
