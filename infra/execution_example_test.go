package infra_test

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
)

// A function that handlers.Durable protects, with the same timeout in its code.
func ExampleDurableOptions() {
	stack := awscdk.NewStack(awscdk.NewApp(nil), jsii.String("Payments"), nil)
	infra.NewIdempotentFunction(stack, "Function", &infra.IdempotentFunctionProps{
		Code:    "build/payments/bootstrap.zip",
		Durable: &infra.DurableOptions{ExecutionTimeout: 24 * time.Hour, Retention: 14 * 24 * time.Hour},
		Table:   infra.NewIdempotencyTable(stack, "Records", nil),
	})
}
