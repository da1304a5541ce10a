package infra_test

import (
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
)

var (
	operators awsiam.IGrantable
	table     *infra.IdempotencyTable
)

// An alias of a function of yours, which is created elsewhere in the app.
func ExampleProtect() {
	var live awslambda.IAlias
	orders := infra.Protect(stack, "Orders", live, &infra.ProtectProps{
		Operations: []string{"place-order"},
		Retention:  28 * 24 * time.Hour,
		Table:      table,
		Timeout:    30 * time.Second, // that of the function, which an alias hides
	})
	orders.AddQueue("Queue", nil) // invokes the alias
}

// A function in a VPC, with a concurrency of its own.
func ExampleNewIdempotentFunction_configure() {
	var vpc awsec2.IVpc
	infra.NewIdempotentFunction(stack, "Orders", &infra.IdempotentFunctionProps{
		Code:  "build/orders/bootstrap.zip",
		Table: table,
		Configure: func(p *awslambda.FunctionProps) {
			p.Vpc = vpc
			p.ReservedConcurrentExecutions = jsii.Number(50)
		},
	})
}

// One key for records, logs, queues and the topic of the alarms.
func ExampleNewAlarmTopic_key() {
	key := awskms.NewKey(stack, jsii.String("Key"), nil)
	infra.NewIdempotentFunction(stack, "Orders", &infra.IdempotentFunctionProps{
		Code:  "build/orders/bootstrap.zip",
		Key:   key,
		Table: infra.NewIdempotencyTable(stack, "Records", &infra.IdempotencyTableProps{Key: key}),
	})
	infra.NewAlarmTopic(stack, "OnCall", &infra.AlarmTopicProps{Key: key})
}

// A table that is ready for 20,000 writes a second, and bounded in cost.
func ExampleNewIdempotencyTable_configure() {
	infra.NewIdempotencyTable(stack, "Records", &infra.IdempotencyTableProps{
		Configure: func(p *awsdynamodb.TablePropsV2) {
			p.Billing = awsdynamodb.Billing_OnDemand(&awsdynamodb.MaxThroughputProps{MaxWriteRequestUnits: jsii.Number(40000)})
			p.WarmThroughput = &awsdynamodb.WarmThroughput{WriteUnitsPerSecond: jsii.Number(20000)}
		},
	})
}

// A queue of yours feeds the function by the event source of CDK.
func ExampleQueue_GrantRedrive() {
	var queue, deadLetters awssqs.IQueue
	orders.Function.AddEventSource(awslambdaeventsources.NewSqsEventSource(queue, &awslambdaeventsources.SqsEventSourceProps{
		ReportBatchItemFailures: jsii.Bool(true), // without it, synthesis fails
	}))
	q := &infra.Queue{Queue: queue, DeadLetters: deadLetters}
	q.GrantRedrive(operators)
}

// A policy for a role that a central team makes, and the rights of a pipeline.
func ExampleIdempotencyTable_ExecutePolicy() {
	policy := table.ExecutePolicy(&infra.ExecuteOptions{Operations: []string{"place-order"}})
	awscdk.NewCfnOutput(stack, jsii.String("Policy"), &awscdk.CfnOutputProps{Value: stack.ToJsonString(policy, nil)})
	table.GrantCheck(operators)
}

// A test of the app, without a deployment.
func ExampleCheck() {
	for _, finding := range infra.Check(stack) {
		fmt.Println(finding)
	}
}

// The handler of this queue stops by itself after 9 s.
func ExampleAccept() {
	var queue awssqs.Queue
	infra.Accept(queue, "visibility", "the handler stops after 9 s")
}

// The table of Powertools in a second stack.
func ExampleImportIdempotencyTable() {
	existing := awsdynamodb.TableV2_FromTableName(stack, jsii.String("Powertools"), jsii.String("powertools-idempotency"))
	table := infra.ImportIdempotencyTable(existing, nil)
	infra.NewIdempotentFunction(stack, "Payments", &infra.IdempotentFunctionProps{
		Code:  "build/payments/bootstrap.zip",
		Table: table,
	})
}
