package infra

import (
	"cmp"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscodedeploy"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// LiveOptions configure the alias of a function. The zero value of every field is its
// default.
type LiveOptions struct {
	// ProvisionedConcurrency is the number of environments that Lambda keeps ready for
	// the alias, and bills for as long as they exist. Alias.AddAutoScaling changes it by
	// the load or the time. Default: 0, none.
	ProvisionedConcurrency int
}

// newAlias creates the alias of a function, or returns nil for one without.
func (p *IdempotentFunctionProps) newAlias(own constructs.Construct, function awslambda.Function) awslambda.Alias {
	if p.Live == nil && p.Durable == nil {
		return nil
	}
	props := &awslambda.AliasProps{AliasName: jsii.String("live"), Version: function.CurrentVersion()}
	if n := orZero(p.Live).ProvisionedConcurrency; n > 0 {
		props.ProvisionedConcurrentExecutions = jsii.Number(n)
	}
	return awslambda.NewAlias(own, jsii.String("Alias"), props)
}

// target returns the alias or the function that event sources invoke.
func (f *IdempotentFunction) target() awslambda.IFunction {
	if f.Alias != nil {
		return f.Alias
	}
	return f.Function
}

// AddDeploymentGroup lets CodeDeploy shift the alias to a new version step by step, and
// back if an alarm rings. Pass Page of [NewAlarms] for this function alone. By default,
// the new version gets 10 % of the calls for 10 min, because an alarm evaluates 5 min.
// configure changes the props of CDK before the group is created; it may be nil.
//
// Both versions share the records, so that a duplicate may reach either. A dispatcher's
// repeated start that reaches the other version of a durable function starts nothing, and
// fails its record, unless its client has ExecutionInput. An alarm that rings also stops
// the deployment of its repair: set IgnoreAlarmConfiguration for that one.
//
// AddDeploymentGroup panics with a [*PropsError] for a function without an alias of this
// app, without an alarm, and with more than the 10 that CodeDeploy takes.
func (f *IdempotentFunction) AddDeploymentGroup(alarms []awscloudwatch.Alarm, configure func(*awscodedeploy.LambdaDeploymentGroupProps)) awscodedeploy.LambdaDeploymentGroup {
	const id = "Deployments"
	found := refuseID(f.scope, id, "")
	found.when(f.Alias == nil, "Live: the function has no alias of this app; set Live, or pass an alias that is created in the app to Protect")
	found.when(slices.Contains(alarms, nil), "alarms: one is nil")
	found.panic(f.scope, id)
	stops := []interfacesawscloudwatch.IAlarmRef{}
	for _, alarm := range alarms {
		stops = append(stops, alarm)
	}
	props := &awscodedeploy.LambdaDeploymentGroupProps{
		Alarms: &stops, Alias: f.Alias, DeploymentConfig: awscodedeploy.LambdaDeploymentConfig_CANARY_10PERCENT_10MINUTES(),
	}
	if configure != nil {
		configure(props)
	}
	found.when(props.Alias != f.Alias, "configure: it changes Alias")
	n := len(*cmp.Or(props.Alarms, &[]interfacesawscloudwatch.IAlarmRef{}))
	found.when(n == 0 || n > 10, "alarms: there are %d, and CodeDeploy takes 1 to 10; choose those that a bad version makes ring", n)
	found.panic(f.scope, id)
	return build(f.scope, id, "configure", func() awscodedeploy.LambdaDeploymentGroup {
		return awscodedeploy.NewLambdaDeploymentGroup(f.scope, jsii.String(id), props)
	})
}
