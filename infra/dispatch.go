package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
)

// GrantStartExecution allows a dispatcher to start executions of this durable
// function: lambda:InvokeFunction on its Alias, and on nothing else. Lambda puts
// the events of executions that fail into the same queue as those of
// [IdempotentFunction.AddTopic]. [NewIdempotentFunction] calls it for a function
// with Dispatches.
//
// GrantStartExecution panics with a [*PropsError] if the function is not durable, or
// if its records may expire before an event of this queue is sent again.
func (f *IdempotentFunction) GrantStartExecution(grantee awsiam.IGrantable) awsiam.Grant {
	f.refuseExecutions(grantee).panic(f.scope, "")
	f.refuseLate("an event", maxEventAge+f.props.Durable.timeout()).panic(f.scope, "")
	f.failuresOfEvents()
	return allow(grantee, []*string{f.Alias.FunctionArn()}, nil, "lambda:InvokeFunction")
}

// GrantReadExecutions allows a dispatcher to compare a record with the execution
// that was started for its key: lambda:ListDurableExecutionsByFunction on the
// unqualified function, and lambda:GetDurableExecution on its executions. It is for
// clients with durablefunc.ExecutionReader.
//
// GrantReadExecutions panics with a [*PropsError] if the function is not durable.
func (f *IdempotentFunction) GrantReadExecutions(grantee awsiam.IGrantable) awsiam.Grant {
	f.refuseExecutions(grantee).panic(f.scope, "")
	list := allow(grantee, []*string{f.Function.FunctionArn()}, nil, "lambda:ListDurableExecutionsByFunction")
	return list.Combine(allow(grantee, []*string{executionsOf(f.Function)}, nil, "lambda:GetDurableExecution"))
}

func (f *IdempotentFunction) refuseExecutions(grantee awsiam.IGrantable) (found problems) {
	found.when(grantee == nil, "grantee: it is required")
	found.when(f.Alias == nil, "Durable: the function is not durable, and has no executions")
	return found
}

func (p *IdempotentFunctionProps) refuseDispatches() problems {
	var found problems
	if p.Dispatches == nil {
		return nil
	}
	found.when(p.Dispatches.Alias == nil, "Dispatches: the function is not durable, and has no executions")
	found.when(p.Durable != nil, "Durable: a dispatcher is an ordinary function")
	found.when(p.Table != nil || p.Execute != nil, "Table, Execute: a dispatcher has no records; for a function with records, use GrantStartExecution")
	history := p.Dispatches.props.Durable.history()
	found.when(p.Retention > history, "Retention: %s is longer than the %s for which the service knows the name of an execution", p.Retention, history)
	return found
}

// variable returns the name of the variable that this package sets.
func (p *IdempotentFunctionProps) variable() string {
	if p.Dispatches != nil {
		return "DURABLE_FUNCTION"
	}
	return "IDEMPOTENCY_TABLE"
}

// ephemeral reports whether queues and logs go with their stack.
func (p *IdempotentFunctionProps) ephemeral() bool {
	if p.Dispatches != nil {
		return p.Dispatches.props.ephemeral()
	}
	return p.Table != nil && p.Table.props.Ephemeral
}

// expires and raise are parts of the text about a retention that is too short.
func (p *IdempotentFunctionProps) expires() string {
	if p.Dispatches != nil {
		return "the name of its execution may be forgotten"
	}
	return "its record expires"
}

func (p *IdempotentFunctionProps) raise() string {
	if p.Dispatches != nil {
		return "raise Durable.Retention of the function that it dispatches"
	}
	return "raise Config.Retention in the function and IdempotentFunctionProps.Retention"
}
