package infra_test

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscodedeploy"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
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

// A function that durablefunc.Wrap protects, with the same timeout in its code, and
// the dispatcher that starts its executions.
func ExampleDurableOptions() {
	stack := awscdk.NewStack(awscdk.NewApp(nil), jsii.String("Payments"), nil)
	const month = 28 * 24 * time.Hour // longer than the queue and its dead-letter queue keep a message
	pay := infra.NewIdempotentFunction(stack, "Function", &infra.IdempotentFunctionProps{
		Code:      "build/payments/bootstrap.zip",
		Durable:   &infra.DurableOptions{ExecutionTimeout: 24 * time.Hour, Retention: month},
		Retention: month,
		Table:     infra.NewIdempotencyTable(stack, "Records", nil),
	})
	dispatcher := infra.NewIdempotentFunction(stack, "Dispatcher", &infra.IdempotentFunctionProps{
		Code: "build/dispatcher/bootstrap.zip", Dispatches: pay,
	})
	dispatcher.AddQueue("Payments", nil)
}

// A function whose new version gets a tenth of the calls for ten minutes.
func ExampleNewIdempotentFunction_live() {
	orders := infra.NewIdempotentFunction(stack, "Orders", &infra.IdempotentFunctionProps{
		Code:       "build/orders/bootstrap.zip",
		Live:       &infra.LiveOptions{ProvisionedConcurrency: 5},
		Operations: []string{"place-order"},
		Retention:  28 * 24 * time.Hour,
		Table:      table,
	})
	orders.AddQueue("Queue", nil) // invokes the alias
	alarms := infra.NewAlarms(stack, "OrdersAlarms", &infra.AlarmsProps{Functions: []*infra.IdempotentFunction{orders}})
	var stops []interfacesawscloudwatch.IAlarmRef
	for _, alarm := range alarms.Page {
		stops = append(stops, alarm)
	}
	awscodedeploy.NewLambdaDeploymentGroup(stack, jsii.String("Deployments"), &awscodedeploy.LambdaDeploymentGroupProps{
		Alarms:           &stops,
		Alias:            orders.Alias,
		DeploymentConfig: awscodedeploy.LambdaDeploymentConfig_CANARY_10PERCENT_10MINUTES(),
	})
}

// A second function finishes what the callers of the first one left behind.
func ExampleNewResume() {
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("Trips"), nil)

	table := infra.NewIdempotencyTable(stack, "Records", &infra.IdempotencyTableProps{Resume: true})
	infra.NewResume(stack, "Resume", &infra.ResumeProps{
		Code:       "build/resume/bootstrap.zip",
		Operations: []string{"book-trip"},
		Table:      table,
	})
}
