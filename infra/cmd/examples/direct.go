package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
)

// checkout adds a function that is invoked directly, and the relay of its messages
// to a queue. It adds no reader of the queue.
func checkout(stack awscdk.Stack, table *infra.IdempotencyTable, build string) (*infra.IdempotentFunction, *infra.Relay, *infra.Outbox) {
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
	return function, relay, outbox
}

// refunds adds a tool that models call, at a URL whose callers IAM identifies. Its messages
// share the outbox of checkout.
func refunds(stack awscdk.Stack, table *infra.IdempotencyTable, outbox *infra.Outbox, build string) *infra.IdempotentFunction {
	made := business(stack, "RefundsMade")
	function := infra.NewIdempotentFunction(stack, "Refunds", &infra.IdempotentFunctionProps{
		Code: build + "refunds/bootstrap.zip",
		Environment: map[string]string{
			"OUTBOX_TABLE":  *outbox.Table.TableName(),
			"PROVIDER_URL":  "https://provider.example", // replace it
			"REFUNDS_TABLE": *made.TableName(),
		},
		Execute: &infra.ExecuteOptions{Operations: []string{"refund"}, Transactions: true},
		Table:   table,
	})
	infra.GrantTransact(function.Function, made, infra.TransactPut)
	outbox.GrantPublish(function.Function)
	url := function.Function.AddFunctionUrl(&awslambda.FunctionUrlOptions{AuthType: awslambda.FunctionUrlAuthType_AWS_IAM})
	output(stack, "RefundsURL", url.Url())
	return function
}

// shared adds a function that is invoked directly, and whose records functions with
// Powertools share. Their prefix is the beginning of its records' ids.
func shared(stack awscdk.Stack, table *infra.IdempotencyTable, build string) *infra.IdempotentFunction {
	const prefix = "shared"
	executions := business(stack, "Executions")
	function := infra.NewIdempotentFunction(stack, "Shared", &infra.IdempotentFunctionProps{
		Code: build + "shared/bootstrap.zip",
		Environment: map[string]string{
			"POWERTOOLS_DIALECT": "typescript",
			"POWERTOOLS_PREFIX":  prefix,
			"SHARED_TABLE":       *executions.TableName(),
		},
		Execute: &infra.ExecuteOptions{Operations: []string{prefix}},
		Table:   table,
	})
	executions.Grants().Actions(function.Function, jsii.String("dynamodb:PutItem"))
	output(stack, "SharedFunction", function.Function.FunctionName())
	return function
}

// transfer adds a function that is invoked directly.
func transfer(stack awscdk.Stack, table *infra.IdempotencyTable, build string) *infra.IdempotentFunction {
	accounts := business(stack, "Accounts")
	function := infra.NewIdempotentFunction(stack, "Transfer", &infra.IdempotentFunctionProps{
		Code:        build + "transfer/bootstrap.zip",
		Environment: map[string]string{"ACCOUNTS_TABLE": *accounts.TableName()},
		Execute:     &infra.ExecuteOptions{Operations: []string{"transfer"}, Transactions: true},
		Table:       table,
	})
	infra.GrantTransact(function.Function, accounts, infra.TransactUpdate)
	output(stack, "AccountsTable", accounts.TableName())
	output(stack, "TransferFunction", function.Function.FunctionName())
	return function
}
