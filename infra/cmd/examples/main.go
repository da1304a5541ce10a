// Command examples is the CDK app of the functions in examples: payments behind
// an HTTP API, orders behind a queue, transfer, shared, checkout with the relay of its
// outbox, and refunds, a tool of models. Run it after "make build": with "npx aws-cdk deploy" in the folder infra,
// or with "make synth", which writes templates and deploys nothing.
package main

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
)

func main() {
	defer jsii.Close()
	app := awscdk.NewApp(&awscdk.AppProps{Context: &map[string]any{
		"@aws-cdk/core:validateAgainstDefaultRules": true, // finds misspelled properties at synth
	}})
	examples(app, "../build/")
	app.Synth(nil)
}

func examples(app awscdk.App, build string) awscdk.Stack {
	stack := awscdk.NewStack(app, jsii.String("OnceExamples"), nil)
	table := infra.NewIdempotencyTable(stack, "Idempotency", nil)

	charges := business(stack, "Charges")
	payments := infra.NewIdempotentFunction(stack, "Payments", &infra.IdempotentFunctionProps{
		Code:        build + "payments/bootstrap.zip",
		Environment: map[string]string{"PAYMENTS_TABLE": *charges.TableName()},
		Execute:     &infra.ExecuteOptions{Operations: []string{"create-payment"}},
		Table:       table,
	})
	charges.Grants().Actions(payments.Function, jsii.String("dynamodb:PutItem"))
	api := payments.AddHTTPAPI("API", &infra.HTTPAPIProps{
		Public: true, // use a DefaultAuthorizer: without one, JWTClaim refuses every request
		Routes: []string{"POST /payments"},
	})

	placed := business(stack, "PlacedOrders")
	orders := infra.NewIdempotentFunction(stack, "Orders", &infra.IdempotentFunctionProps{
		Code:        build + "orders/bootstrap.zip",
		Environment: map[string]string{"ORDERS_TABLE": *placed.TableName()},
		Execute:     &infra.ExecuteOptions{Group: true, Operations: []string{"place-order"}},
		Retention:   28 * 24 * time.Hour, // as in the function: the retention of both queues
		Table:       table,
	})
	placed.Grants().Actions(orders.Function, jsii.String("dynamodb:PutItem"))
	queue := orders.AddQueue("Queue", &infra.QueueProps{Retention: 14 * 24 * time.Hour})

	moved, both := transfer(stack, table, build), shared(stack, table, build)
	bought, relay, outbox := checkout(stack, table, build)
	refunded := refunds(stack, table, outbox, build)

	functions, relays := []*infra.IdempotentFunction{payments, orders, moved, both, bought, refunded}, []*infra.Relay{relay}
	onCall := infra.NewAlarmTopic(stack, "OnCall", nil)
	infra.NewAlarms(stack, "Alarms", &infra.AlarmsProps{Functions: functions, Notify: []awssns.ITopic{onCall}, Relays: relays})
	infra.NewDashboard(stack, "Dashboard", &infra.DashboardProps{Functions: functions, Relays: relays})

	output(stack, "IdempotencyTable", table.Table.TableName())
	output(stack, "OnCallTopic", onCall.TopicArn())
	output(stack, "OrdersQueue", queue.Queue.QueueUrl())
	output(stack, "PaymentsURL", jsii.String(*api.ApiEndpoint()+"/payments"))
	return stack
}

// business adds a table of a service's own.
func business(stack awscdk.Stack, id string) awsdynamodb.TableV2 {
	return awsdynamodb.NewTableV2(stack, &id, &awsdynamodb.TablePropsV2{
		PartitionKey: &awsdynamodb.Attribute{Name: jsii.String("id"), Type: awsdynamodb.AttributeType_STRING},
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(true),
		},
	})
}

func output(stack awscdk.Stack, name string, value *string) {
	awscdk.NewCfnOutput(stack, jsii.String("Output"+name), &awscdk.CfnOutputProps{Value: value}).OverrideLogicalId(&name)
}
