package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// maxMappingTime is the time for which an event source mapping waits for a whole
// execution.
const maxMappingTime = 15 * time.Minute

// newAlias creates the alias of a durable function, and allows the function to read
// its own executions. The managed policy that CDK attaches allows the other calls
// of the service.
func newAlias(own constructs.Construct, function awslambda.Function) awslambda.Alias {
	alias := awslambda.NewAlias(own, jsii.String("Alias"), &awslambda.AliasProps{
		AliasName: jsii.String("live"), Version: function.CurrentVersion(),
	})
	// A policy of its own: the function waits for the default policy of its role,
	// which therefore must not contain the function's ARN.
	policy := awsiam.NewPolicy(own, jsii.String("Executions"), &awsiam.PolicyProps{
		Roles: &[]awsiam.IRole{function.Role()},
		Statements: &[]awsiam.PolicyStatement{awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Actions:   jsii.Strings("lambda:GetDurableExecution"),
			Resources: &[]*string{executionsOf(function)},
		})},
	})
	alias.Node().AddDependency(policy)
	return alias
}

// executionsOf returns the pattern of the ARNs of all executions, which contain a
// version and never an alias.
func executionsOf(function awslambda.Function) *string {
	return awscdk.Fn_Join(jsii.String(""), &[]*string{function.FunctionArn(), jsii.String(":*/durable-execution/*")})
}

// target returns the alias or the function that event sources invoke.
func (f *IdempotentFunction) target() awslambda.IFunction {
	if f.Alias != nil {
		return f.Alias
	}
	return f.Function
}

// refuseWait reports executions that may take longer than a source waits for them.
func (f *IdempotentFunction) refuseWait(source string, longest time.Duration) problems {
	var found problems
	found.when(f.props.Durable.timeout() > longest,
		"Durable.ExecutionTimeout: %s is longer than the %s for which %s waits for the whole execution; lower it, or start executions from a dispatcher (Dispatches)",
		f.props.Durable.timeout(), longest, source)
	return found
}

// batchSize returns the default size of a batch.
func (f *IdempotentFunction) batchSize(records int) int {
	if f.Alias != nil {
		return 1 // a batch is one execution, with one key
	}
	return records
}

// undelivered returns the metric of events that Lambda could not put into the
// failure queue.
func (f *IdempotentFunction) undelivered() string {
	if f.Alias != nil {
		return "DeadLetterErrors"
	}
	return "DestinationDeliveryFailures"
}

// longest returns how long a source may wait for the function.
func (p *IdempotentFunctionProps) longest() time.Duration {
	return max(p.Timeout, p.Durable.timeout())
}
