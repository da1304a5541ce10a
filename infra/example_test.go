package infra_test

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
)

// A function behind a queue, with its table, alarms and a topic that they notify.
func Example() {
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("Orders"), nil)
	function := infra.NewIdempotentFunction(stack, "Orders", &infra.IdempotentFunctionProps{
		Code:       "build/orders/bootstrap.zip",
		Operations: []string{"place-order"},
		Retention:  28 * 24 * time.Hour, // as in the function: longer than both queues keep a message
		Table:      infra.NewIdempotencyTable(stack, "Records", nil),
	})
	function.AddQueue("Queue", nil)
	infra.NewAlarms(stack, "Alarms", &infra.AlarmsProps{Functions: []*infra.IdempotentFunction{function}})
	app.Synth(nil)
}
