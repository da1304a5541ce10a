package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
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
