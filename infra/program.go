package infra

import (
	"maps"
	"reflect"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/bootstrap"
)

// deploy creates a Go function on provided.al2023 and arm64 with a log group of its own,
// and with the variables of its store. All constructs of this package deploy their
// functions by it.
func (p *IdempotentFunctionProps) deploy(own constructs.Construct, ephemeral bool, variables map[string]*string) awslambda.Function {
	environment := map[string]*string{"AWS_LAMBDA_LOG_LEVEL": jsii.String("INFO")}
	maps.Copy(environment, variables)
	for name, value := range p.Environment {
		environment[name] = &value
	}
	// A log group of the stack: LogRetention would deploy a function of its own to
	// set the retention.
	logs := newLogs(own, "Logs", ephemeral, awslogs.RetentionDays_ONE_MONTH, p.Key)
	props := &awslambda.FunctionProps{
		Architecture: awslambda.Architecture_ARM_64(), Environment: &environment, Handler: jsii.String("bootstrap"), LogGroup: logs,
		MemorySize: jsii.Number(256), Runtime: awslambda.Runtime_PROVIDED_AL2023(), Timeout: seconds(p.Timeout),
	}
	if p.Code != "" {
		props.Code = awslambda.Code_FromAsset(&p.Code, nil)
	}
	if p.Durable != nil {
		// Suspended executions continue with the version that they began with, and CDK
		// replaces the version when the code changes.
		props.CurrentVersionOptions = &awslambda.VersionOptions{RemovalPolicy: removalPolicy(ephemeral)}
		props.DurableConfig = &awslambda.DurableConfig{ExecutionTimeout: seconds(p.Durable.ExecutionTimeout)}
		if p.Durable.Retention > 0 {
			props.DurableConfig.RetentionPeriod = awscdk.Duration_Days(jsii.Number(p.Durable.Retention / day))
		}
	}
	p.configure(own, props, logs)
	if p.Durable != nil {
		return p.newDurable(own, props)
	}
	return build(own, "", "Configure", func() awslambda.Function { return awslambda.NewFunction(own, jsii.String("Function"), props) })
}

// configure lets Configure change the props of a function, and panics for changes with which
// deploy would do something else than the props of this package state. Check examines the rest.
// logs is the function's own log group.
func (p *IdempotentFunctionProps) configure(own constructs.Construct, props *awslambda.FunctionProps, logs awslogs.LogGroup) {
	before := *props
	var found problems
	if p.Configure != nil {
		p.Configure(props)
		found.when(p.Code != "" && props.Code != before.Code, "Configure: it changes Code; leave the prop Code empty, or do not set it here")
		found.when(props.DurableConfig != before.DurableConfig, "Configure: it changes DurableConfig; set the prop Durable")
		found.when(p.Durable != nil && props.CurrentVersionOptions != before.CurrentVersionOptions,
			"Configure: it changes CurrentVersionOptions; it keeps the versions of suspended executions")
		found.when(p.Durable != nil && props.FunctionName != nil,
			"Configure: it changes FunctionName; Lambda makes a function durable only when it creates it, and two functions cannot have one name; leave the name to CDK")
		if p.Code != "" && props.Architecture != nil {
			err := bootstrap.Check(p.Code, *props.Architecture.Name())
			found.when(err != nil, "Code: %v", err)
		}
	}
	found.when(props.Code == nil, "Code: it is required, here or in Configure")
	found.panic(own, "")
	if props.LogGroup != before.LogGroup {
		own.Node().TryRemoveChild(logs.Node().Id())
	} else if props.Role != nil {
		logs.GrantWrite(props.Role) // CDK lets only the role that it creates write logs
	}
}

// refuseProgram reports the mistakes in the props that deploy alone uses.
func (p *IdempotentFunctionProps) refuseProgram() (found problems) {
	found.when(p.Configure == nil && p.Code == "", "Code: it is required")
	if p.Configure == nil && p.Code != "" { // Configure may replace the code, or its architecture
		err := bootstrap.Check(p.Code, "arm64")
		found.when(err != nil, "Code: %v", err)
	}
	found.when(orZero(p.Live).ProvisionedConcurrency < 0, "Live.ProvisionedConcurrency: %d is negative", orZero(p.Live).ProvisionedConcurrency)
	found.add(p.Durable.refuse())
	return found
}

// whole reports whether a time is whole units, and at least one.
func whole(d, unit, most time.Duration) bool { return d >= unit && d <= most && d%unit == 0 }

func seconds(d time.Duration) awscdk.Duration {
	return awscdk.Duration_Seconds(jsii.Number(d.Seconds()))
}

// filled returns defaults with the fields of props that are not zero. A constructor may
// get no props.
func filled[P any](props *P, defaults P) P {
	if props == nil {
		return defaults
	}
	from, to := reflect.ValueOf(props).Elem(), reflect.ValueOf(&defaults).Elem()
	for i := range from.NumField() {
		if field := from.Field(i); !field.IsZero() {
			to.Field(i).Set(field)
		}
	}
	return defaults
}

// orZero returns the props, or those of a constructor that gets none.
func orZero[P any](props *P) P {
	var zero P
	return filled(props, zero)
}
