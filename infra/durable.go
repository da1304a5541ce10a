package infra

import (
	"cmp"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// DurableOptions configure the executions of a durable function.
// ExecutionTimeout is required.
type DurableOptions struct {
	// ExecutionTimeout is how long an execution may take, with its suspensions:
	// whole seconds, 1 s to 366 days. Pass the same one to durablefunc.Wrap. An
	// execution that is stopped holds its key for as long. Queues and streams wait
	// at most 15 min for it, and an HTTP API 30 s. On Managed Instances they would wait
	// 90 min, which this package does not use.
	ExecutionTimeout time.Duration

	// Retention is how long the history of an execution is kept after its end, and with it
	// the name that a dispatcher gave the execution: whole days, 1 to 90. Default: 14 days.
	Retention time.Duration
}

// The following methods are also those of a function that is not durable, whose
// options are nil.

func (o *DurableOptions) timeout() time.Duration { return orZero(o).ExecutionTimeout }

func (o *DurableOptions) history() time.Duration { return cmp.Or(orZero(o).Retention, 14*day) }

func (o *DurableOptions) refuse() (found problems) {
	if o == nil {
		return nil
	}
	found.when(!whole(o.ExecutionTimeout, time.Second, 366*day), "Durable.ExecutionTimeout: %s is not whole seconds, 1 s to 366 days", o.ExecutionTimeout)
	found.when(o.Retention != 0 && !whole(o.Retention, day, 90*day), "Durable.Retention: %s is not whole days, 1 to 90", o.Retention)
	return found
}

// newDurable creates a durable function. Lambda makes a function durable only when it
// creates it, so it has a logical id of its own: CloudFormation then creates a new function
// in place of an update that Lambda refuses.
func (p *IdempotentFunctionProps) newDurable(own constructs.Construct, props *awslambda.FunctionProps) awslambda.Function {
	function := build(own, "", "Configure", func() awslambda.Function { return awslambda.NewFunction(own, jsii.String("Durable"), props) })
	if p.Key != nil {
		stack := awscdk.Stack_Of(own)
		// The function's own ARN would be a circle: the function waits for its key.
		functions := stack.FormatArn(&awscdk.ArnComponents{Service: jsii.String("lambda"), Resource: jsii.String("function:*")})
		allowService(p.Key, "lambda.amazonaws.com", &map[string]any{
			"ArnLike":      map[string]any{"kms:EncryptionContext:aws:lambda:FunctionArn": functions},
			"StringEquals": map[string]any{"aws:SourceAccount": stack.Account()},
		}, "kms:Decrypt", "kms:GenerateDataKey*")
		p.Key.GrantDecrypt(function)
		function.Node().DefaultChild().(awslambda.CfnFunction).AddPropertyOverride(jsii.String("DurableConfig.KMSKeyArn"), p.Key.KeyArn())
	}
	return function
}

// grantOwnExecutions allows a durable function to read its own executions. The managed
// policy that CDK attaches allows the other calls of the service.
func grantOwnExecutions(own constructs.Construct, function awslambda.Function, alias awslambda.Alias) {
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
}

// executionsOf returns the pattern of the ARNs of all executions, which contain a
// version and never an alias.
func executionsOf(function awslambda.IFunction) *string {
	return awscdk.Fn_Join(jsii.String(""), &[]*string{function.FunctionArn(), jsii.String(":*/durable-execution/*")})
}

// batchSize returns the default size of a batch.
func (f *IdempotentFunction) batchSize(records int) int {
	if f.props.Durable != nil {
		return 1 // a batch is one execution, with one key
	}
	return records
}

// GrantStartExecution allows a dispatcher to start executions of this durable function:
// lambda:InvokeFunction on its Alias, and on nothing else. Lambda puts the events of
// executions that fail into the same queue as those of [IdempotentFunction.FailureQueue].
// [NewIdempotentFunction] calls it for a function with Dispatches.
//
// GrantStartExecution panics with a [*PropsError] if the function is not durable. [Check] finds
// records that expire before an event of this queue is sent again.
func (f *IdempotentFunction) GrantStartExecution(grantee awsiam.IGrantable) awsiam.Grant {
	f.refuseExecutions(grantee).panic(f.scope, "")
	f.failuresOfEvents()
	return allow(grantee, []*string{f.Alias.FunctionArn()}, nil, "lambda:InvokeFunction")
}

// GrantReadExecutions allows a dispatcher to compare a record with the execution
// that was started for its key: lambda:ListDurableExecutionsByFunction on the
// unqualified function, and lambda:GetDurableExecution on its executions. It is for
// clients with durablefunc.ExecutionReader. With Key, it allows decryption as well.
//
// GrantReadExecutions panics with a [*PropsError] if the function is not durable.
func (f *IdempotentFunction) GrantReadExecutions(grantee awsiam.IGrantable) awsiam.Grant {
	f.refuseExecutions(grantee).panic(f.scope, "")
	list := allow(grantee, []*string{f.Function.FunctionArn()}, nil, "lambda:ListDurableExecutionsByFunction")
	if key := f.props.Key; key != nil {
		key.GrantDecrypt(grantee)
	}
	return list.Combine(allow(grantee, []*string{executionsOf(f.Function)}, nil, "lambda:GetDurableExecution"))
}

func (f *IdempotentFunction) refuseExecutions(grantee awsiam.IGrantable) (found problems) {
	found.when(grantee == nil, "grantee: it is required")
	found.when(f.props.Durable == nil, "Durable: the function is not durable, and has no executions")
	return found
}
