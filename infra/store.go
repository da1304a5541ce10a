package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/appcheck"
)

// A store contains the records of a function. For a dispatcher, the service of the
// durable function stands for it, because it knows the names of the executions.
type store interface {
	// connect allows a function the calls of the store.
	connect(function awslambda.IFunction, p *IdempotentFunctionProps)
	// ephemeral reports whether queues and logs go with their stack.
	ephemeral() bool
	// expiry returns the meaning of the end of Retention, and advice if it comes too early.
	expiry() (event, advice string)
	// refuse reports props that contradict the store.
	refuse(p *IdempotentFunctionProps) problems
	// variables returns the environment that leads the function to the store. It is
	// called only if refuse reports nothing.
	variables() map[string]*string
}

// stores returns the stores that the props name. A function has exactly one.
func (p *IdempotentFunctionProps) stores() (all []store) {
	if p.Table != nil {
		all = append(all, p.Table)
	}
	if p.Postgres != nil {
		all = append(all, p.Postgres)
	}
	if p.Redis != nil {
		all = append(all, p.Redis)
	}
	if p.Dispatches != nil {
		all = append(all, dispatched{p.Dispatches})
	}
	return all
}

// store returns the only store of props that are not refused.
func (p *IdempotentFunctionProps) store() store { return p.stores()[0] }

// variables returns those of the store, and the one by which package dynamoenv writes metrics:
// code of the user opens the other stores.
func (p *IdempotentFunctionProps) variables() map[string]*string {
	all := p.store().variables()
	if p.Table != nil && !p.NoMetrics {
		all["ONCE_METRICS"] = jsii.String("emf")
	}
	return all
}

func (p *IdempotentFunctionProps) refuseStore() (found problems) {
	all := p.stores()
	found.when(len(all) == 0, "Table: it is required, or Postgres or Redis")
	found.when(len(all) > 1, "Table, Postgres, Redis, Dispatches: a function has one of them; one with records starts executions with GrantStartExecution")
	for _, s := range all {
		found = append(found, s.refuse(p)...)
	}
	return found
}

// records is the part that all stores of records have in common.
type records struct{}

func (records) ephemeral() bool { return false }

func (records) expiry() (event, advice string) {
	return "its record expires", "raise Config.Retention in the function and Retention in its props"
}

func (t *IdempotencyTable) connect(function awslambda.IFunction, p *IdempotentFunctionProps) {
	t.GrantExecute(function, p.Execute)
}

func (t *IdempotencyTable) ephemeral() bool { return t.props.Ephemeral }

func (t *IdempotencyTable) refuse(p *IdempotentFunctionProps) problems {
	return t.refuseExecute(orZero(p.Execute))
}

func (t *IdempotencyTable) variables() map[string]*string {
	return map[string]*string{"IDEMPOTENCY_TABLE": t.Table.TableName()}
}

// dispatched is a durable function, for its dispatcher.
type dispatched struct{ *IdempotentFunction }

func (d dispatched) connect(function awslambda.IFunction, _ *IdempotentFunctionProps) {
	d.GrantStartExecution(function)
}

func (d dispatched) ephemeral() bool { return d.props.store().ephemeral() }

func (dispatched) expiry() (event, advice string) {
	return "the name of its execution may be forgotten", "raise Durable.Retention of the function that it dispatches"
}

func (d dispatched) refuse(p *IdempotentFunctionProps) (found problems) {
	found.when(d.props.Durable == nil, "Dispatches: the function is not durable, and has no executions")
	found.when(p.Durable != nil, "Durable: a dispatcher is an ordinary function")
	found.when(p.Execute != nil, "Execute: a dispatcher has no records")
	history := d.props.Durable.history()
	found.when(p.Retention > history, "Retention: %s is longer than the %s for which the service knows the name of an execution", p.Retention, history)
	return found
}

func (d dispatched) variables() map[string]*string {
	return map[string]*string{"DURABLE_FUNCTION": d.Alias.FunctionArn()}
}

// A server is one in a VPC with records, and how functions log in to it.
type server struct {
	of     awsec2.IConnectable // nil for a server that is reached without a VPC
	port   *float64
	secret awssecretsmanager.ISecret
	user   string
}

// refuse reports a server that no function can reach, or log in to.
func (s *server) refuse() (found problems) {
	found.when((s.secret == nil) == (s.user == ""), "Secret, User: state one of them; a User logs in with IAM")
	found.when(s.of == nil || len(*s.of.Connections().SecurityGroups()) == 0,
		"Server: it is required, and an import hides its security group; pass the security group")
	return found
}

// open opens the server for a function, and lets it read the secret.
func (s *server) open(function awslambda.IFunction) {
	if s.of != nil {
		var found problems
		client := appcheck.Unqualified(function)
		found.when(!*client.IsBoundToVpc(),
			"function: it is in no VPC, and cannot reach the store; put it into one with Configure, and import a function with its SecurityGroup")
		found.panic(function, "")
		s.of.Connections().AllowFrom(client, awsec2.Port_Tcp(s.port), jsii.String("Records of "+*client.Node().Path()))
	}
	if s.secret != nil {
		effective(function, s.secret.GrantRead(function, nil))
	}
}

func (s *server) portText() *string { return awscdk.Tokenization_StringifyNumber(s.port) }
