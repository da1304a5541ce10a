package infra_test

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
)

// A page notifies the person on call, and invokes a function. A ticket is a mail.
func ExampleNewAlarms() {
	var pager, mail awssns.ITopic
	var stop awslambda.IFunction
	infra.NewAlarms(stack, "Alarms", &infra.AlarmsProps{
		Functions: []*infra.IdempotentFunction{orders},
		Page:      infra.AlarmActions{Notify: []awssns.ITopic{pager}, Actions: []awscloudwatch.IAlarmAction{awscloudwatchactions.NewLambdaAction(stop, nil)}},
		Ticket:    infra.AlarmActions{Notify: []awssns.ITopic{mail}},
	})
}

// One notification for all pages, however many ring.
func ExampleNewAlarms_composite() {
	var pager awssns.ITopic
	var rings []awscloudwatch.IAlarmRule
	alarms := infra.NewAlarms(stack, "Alarms", &infra.AlarmsProps{Functions: []*infra.IdempotentFunction{orders}})
	for _, alarm := range alarms.Page {
		rings = append(rings, alarm)
	}
	page := awscloudwatch.NewCompositeAlarm(stack, jsii.String("Page"), &awscloudwatch.CompositeAlarmProps{
		AlarmRule: awscloudwatch.AlarmRule_AnyOf(rings...),
	})
	page.AddAlarmAction(awscloudwatchactions.NewSnsAction(pager))
}
