// Command start is the CDK app of docs/start.md.
package main

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
)

func main() {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	orders(app, "../bootstrap.zip")
	app.Synth(nil)
}

func orders(app awscdk.App, code string) awscdk.Stack {
	stack := awscdk.NewStack(app, jsii.String("Orders"), nil)
	function := infra.NewIdempotentFunction(stack, "Orders", &infra.IdempotentFunctionProps{
		Code:       code,
		Operations: []string{"place-order"},
		Retention:  28 * 24 * time.Hour, // as in the function
		Table:      infra.NewIdempotencyTable(stack, "Idempotency", nil),
	})
	function.AddQueue("Queue", nil)
	infra.NewAlarms(stack, "Alarms", &infra.AlarmsProps{Functions: []*infra.IdempotentFunction{function}})
	return stack
}
