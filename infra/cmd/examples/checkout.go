package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
)

// checkout adds a function that is invoked directly, and the relay of its messages
// to a queue. It adds no reader of the queue.
func checkout(stack awscdk.Stack, table *infra.IdempotencyTable, build string) (*infra.IdempotentFunction, *infra.Relay) {
	outbox := infra.NewOutbox(stack, "Outbox", nil)
	ordered := business(stack, "CheckedOut")
	function := infra.NewIdempotentFunction(stack, "Checkout", &infra.IdempotentFunctionProps{
		Code: build + "checkout/bootstrap.zip",
		Environment: map[string]string{
			"ORDERS_TABLE": *ordered.TableName(),
			"OUTBOX_TABLE": *outbox.Table.TableName(),
			"PROVIDER_URL": "https://provider.example", // replace it
		},
		Execute: &infra.ExecuteOptions{Operations: []string{"checkout"}, Transactions: true},
		Table:   table,
	})
	infra.GrantTransact(function.Function, ordered, infra.TransactPut)
	outbox.GrantPublish(function.Function)

	events := awssqs.NewQueue(stack, jsii.String("OrderEvents"), &awssqs.QueueProps{EnforceSSL: jsii.Bool(true), Fifo: jsii.Bool(true)})
	relay := infra.NewRelay(stack, "Relay", &infra.RelayProps{
		Code:        build + "relay/bootstrap.zip",
		Environment: map[string]string{"ORDER_EVENTS_QUEUE": *events.QueueUrl()},
		Outbox:      outbox,
	})
	events.GrantSendMessages(relay.Function)

	output(stack, "CheckoutFunction", function.Function.FunctionName())
	output(stack, "OrderEventsQueue", events.QueueUrl())
	return function, relay
}
