package infra_test

import (
	"time"

	"github.com/lambda-once/once/infra"
)

// A function whose new version gets a tenth of the calls for ten minutes.
func ExampleIdempotentFunction_AddDeploymentGroup() {
	orders := infra.NewIdempotentFunction(stack, "Orders", &infra.IdempotentFunctionProps{
		Code:       "build/orders/bootstrap.zip",
		Live:       &infra.LiveOptions{ProvisionedConcurrency: 5},
		Operations: []string{"place-order"},
		Retention:  28 * 24 * time.Hour,
		Table:      table,
	})
	orders.AddQueue("Queue", nil) // invokes the alias
	alarms := infra.NewAlarms(stack, "OrdersAlarms", &infra.AlarmsProps{Functions: []*infra.IdempotentFunction{orders}})
	orders.AddDeploymentGroup(alarms.Page, nil)
}
