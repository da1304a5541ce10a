package infra

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscodedeploy"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

// live returns a change of props to a function with an alias, whose records outlive
// every source.
func live(concurrency int) func(*IdempotentFunctionProps) {
	return func(p *IdempotentFunctionProps) {
		p.Live, p.Retention, p.Operations = &LiveOptions{ProvisionedConcurrency: concurrency}, 400*day, []string{"pay"}
	}
}

// The alias of a live function and of a durable one are the same.
func TestLiveFunctionHasProvisionedConcurrency(t *testing.T) {
	for _, change := range []func(*IdempotentFunctionProps){longRecords, durable(time.Hour)} {
		stack := newStack()
		newFunction(t, stack, func(p *IdempotentFunctionProps) { change(p); live(5)(p) })
		alias := only(t, synth(t, stack), "AWS::Lambda::Alias").Properties()
		check.Equal(t, alias["Name"], "live")
		check.Equal(t, alias["ProvisionedConcurrencyConfig"], any(map[string]any{"ProvisionedConcurrentExecutions": 5.0}))
	}
}

// Lambda retries an event for the function that received it. Without a configuration of
// its own, one from before the alias would be dropped when it fails for good.
func TestEventsFromBeforeTheAliasAreNotDropped(t *testing.T) {
	stack := newStack()
	sources()["SNS"].add(newFunction(t, stack, live(0)))
	deployed := synth(t, stack)
	qualifiers := map[bool]int{}
	for id, r := range deployed.Resources(invocationsType) {
		qualifiers[isAlias(r.Properties()["Qualifier"])]++
		check.Equal(t, r.Properties()["DestinationConfig"], any(map[string]any{"OnFailure": map[string]any{"Destination": arn("FunctionAsyncFailures")}}), id)
	}
	check.Equal(t, qualifiers, map[bool]int{true: 1, false: 1})
}

// CDK's group of a live function takes the pages of the function, of which CodeDeploy accepts ten.
func TestDeploymentStopsAtThePagesOfTheFunction(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, live(0))
	f.AddQueue("Queue", nil)
	var stops []interfacesawscloudwatch.IAlarmRef
	for _, alarm := range NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}}).Page {
		stops = append(stops, alarm)
	}
	check.Equal(t, len(stops) <= 10, true)
	awscodedeploy.NewLambdaDeploymentGroup(stack, jsii.String("Deployments"), &awscodedeploy.LambdaDeploymentGroupProps{Alarms: &stops, Alias: f.Alias})
	deployed := synth(t, stack)
	group := fmt.Sprint(only(t, deployed, "AWS::CodeDeploy::DeploymentGroup").Properties()["AlarmConfiguration"])
	for id, alarm := range deployed.Resources(alarmType) {
		page := strings.Contains(fmt.Sprint(alarm.Properties()["AlarmDescription"]), "Severity: page.")
		check.Equal(t, strings.Contains(group, "[Ref:"+id+"]"), page, id)
	}
	check.Contains(t, only(t, deployed, "AWS::Lambda::Alias")["UpdatePolicy"], "CodeDeployLambdaAliasUpdate")
}
