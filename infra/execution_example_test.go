package infra_test

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
)

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
