package infra_test

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscodedeploy"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
)

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
