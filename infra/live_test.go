package infra

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscodedeploy"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

const groupType = "AWS::CodeDeploy::DeploymentGroup"

// live returns a change of props to a function with an alias, whose records outlive
// every source.
func live(concurrency int) func(*IdempotentFunctionProps) {
	return func(p *IdempotentFunctionProps) {
		p.Live, p.Retention, p.Operations = &LiveOptions{ProvisionedConcurrency: concurrency}, 400*day, []string{"pay"}
	}
}

func TestSourcesInvokeTheAliasOfALiveFunction(t *testing.T) {
	for name, source := range sources() {
		t.Run(name, func(t *testing.T) { sourceInvokesTheAlias(t, source, live(0)) })
	}
}

// The alias of a live function and of a durable one are the same.
func TestLiveFunctionHasProvisionedConcurrency(t *testing.T) {
	for name, change := range map[string]func(*IdempotentFunctionProps){"live": nil, "durable": durable(time.Hour)} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			newFunction(t, stack, func(p *IdempotentFunctionProps) {
				if change != nil {
					change(p)
				}
				live(5)(p)
			})
			alias := only(t, synth(t, stack), "AWS::Lambda::Alias").Properties()
			check.Equal(t, alias["Name"], "live")
			check.Equal(t, alias["ProvisionedConcurrencyConfig"], any(map[string]any{"ProvisionedConcurrentExecutions": 5.0}))
		})
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

func TestDeploymentStopsAtThePagesOfTheFunction(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, live(0))
	f.AddQueue("Queue", nil)
	alarms := NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}})
	f.AddDeploymentGroup(alarms.Page, nil)
	deployed := synth(t, stack)
	group := only(t, deployed, groupType).Properties()
	stops := fmt.Sprint(group["AlarmConfiguration"])
	for id, alarm := range deployed.Resources(alarmType) {
		page := strings.Contains(fmt.Sprint(alarm.Properties()["AlarmDescription"]), "Severity: page.")
		check.Equal(t, strings.Contains(stops, "[Ref:"+id+"]"), page, id)
	}
	check.Contains(t, group["AutoRollbackConfiguration"], "DEPLOYMENT_STOP_ON_ALARM")
	check.Equal(t, group["DeploymentConfigName"], "CodeDeployDefault.LambdaCanary10Percent10Minutes")
	check.Contains(t, only(t, deployed, "AWS::Lambda::Alias")["UpdatePolicy"], "CodeDeployLambdaAliasUpdate")
}

func TestAliasThatIsProtectedHasADeploymentGroup(t *testing.T) {
	stack := newStack()
	own, table := ownFunction(t, stack), NewIdempotencyTable(stack, "Table", nil)
	own.AddEnvironment(jsii.String("IDEMPOTENCY_TABLE"), table.Table.TableName(), nil)
	alias := awslambda.NewAlias(stack, jsii.String("Prod"), &awslambda.AliasProps{AliasName: jsii.String("prod"), Version: own.CurrentVersion()})
	f := Protect(stack, "Orders", alias, &ProtectProps{Table: table, Timeout: 20 * time.Second})
	f.AddDeploymentGroup(pages(stack, 10), func(p *awscodedeploy.LambdaDeploymentGroupProps) {
		p.DeploymentConfig = awscodedeploy.LambdaDeploymentConfig_ALL_AT_ONCE()
	})
	deployed := synth(t, stack)
	check.Equal(t, only(t, deployed, groupType).Properties()["DeploymentConfigName"], "CodeDeployDefault.LambdaAllAtOnce")
	check.Contains(t, only(t, deployed, "AWS::Lambda::Alias")["UpdatePolicy"], "CodeDeployLambdaAliasUpdate")
}

// pages returns alarms.
func pages(stack awscdk.Stack, n int) (all []awscloudwatch.Alarm) {
	for i := range n {
		all = append(all, NewAlarms(stack, fmt.Sprint("Alarms", i), &AlarmsProps{Operations: []string{"pay"}}).Page[0])
	}
	return all
}

func TestDeploymentGroupRefuses(t *testing.T) {
	group := func(f *IdempotentFunction, n int, configure func(*awscodedeploy.LambdaDeploymentGroupProps)) {
		f.AddDeploymentGroup(pages(awscdk.Stack_Of(f.scope), n), configure)
	}
	wantRefusals(t, map[string]func(*IdempotentFunction){
		"alarms: there are 0, and CodeDeploy":  func(f *IdempotentFunction) { group(f, 0, nil) },
		"alarms: there are 11, and CodeDeploy": func(f *IdempotentFunction) { group(f, 11, nil) },
		"alarms: one is nil":                   func(f *IdempotentFunction) { f.AddDeploymentGroup([]awscloudwatch.Alarm{nil}, nil) },
		"configure: it changes Alias": func(f *IdempotentFunction) {
			group(f, 1, func(p *awscodedeploy.LambdaDeploymentGroupProps) { p.Alias = nil })
		},
		`id: "Deployments" is already in use`: func(f *IdempotentFunction) {
			f.AddDeploymentGroup(pages(awscdk.Stack_Of(f.scope), 1), nil)
			f.AddDeploymentGroup(nil, nil)
		},
	}, func(add func(*IdempotentFunction)) { add(newFunction(t, newStack(), live(0))) })
	wantRefusal(t, "Live: the function has no alias of this app", func() { group(newFunction(t, newStack(), nil), 1, nil) })
}

func TestLiveRefuses(t *testing.T) {
	wantRefusal(t, "Live.ProvisionedConcurrency: -1 is negative", func() { newFunction(t, newStack(), live(-1)) })
}
