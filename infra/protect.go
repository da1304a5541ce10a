package infra

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/appcheck"
)

// ProtectProps are the props of [Protect]. One of Table, Postgres and Redis is required,
// as well as Timeout if the function is an import. The fields mean the same as in
// [IdempotentFunctionProps]; the zero value of every other one is its default.
type ProtectProps struct {
	// Execute narrows or widens the permissions on the table. Default: all records.
	Execute *ExecuteOptions

	// Key encrypts the failure queues and the queues of AddQueue. Default: a key of AWS.
	Key awskms.IKey

	// NoMetrics leaves out ONCE_METRICS. Default: false.
	NoMetrics bool

	// Operations are the names that are passed to idempotent.New. Default: those of Execute.
	Operations []string

	// Postgres is a store, whose server is opened for the function.
	Postgres *PostgresStore

	// Redis is a store, whose server is opened for the function.
	Redis *RedisStore

	// Retention is the Config.Retention of the function's code. Default: 24 h.
	Retention time.Duration

	// Table is the table of the records.
	Table *IdempotencyTable

	// Timeout is the timeout of an invocation, for an import. Default: the function's own.
	Timeout time.Duration
}

// Protect connects a function of yours, or its alias or version, to the table of the
// records: it grants the calls of the store. Event sources, alarms and grants then
// work as for a function of [NewIdempotentFunction]. The sources invoke the alias or
// version that is given.
//
// A function that is created in the app gets IDEMPOTENCY_TABLE, the name of the table, and
// ONCE_METRICS, or the variables of Postgres or Redis. Protect leaves a variable that is set
// already, and [Check] finds one with a different value. For an import, an alias or a version, set
// them where the function is deployed.
//
// Synthesis fails with all findings of [Check], whoever made the sources of the function.
//
// Protect panics with a [*PropsError] for props that cannot work. It also panics for an
// import without a role, which would get no permissions, and for one that CDK would let
// no topic, rule, bucket or API invoke: use awslambda.Function_FromFunctionAttributes with
// Role and SameEnvironment.
func Protect(scope constructs.Construct, id string, function awslambda.IFunction, props *ProtectProps) *IdempotentFunction {
	p := props.declared()
	append(p.refuseProtected(function), refuseID(scope, id, "")...).panic(scope, id)
	if created, known := function.(awslambda.Function); known {
		resource := created.Node().DefaultChild().(awslambda.CfnFunction)
		existing, _ := appcheck.In(resource, resource.Environment(), "variables").(map[string]any) // nil without one
		for name, value := range p.variables() {
			if existing[name] == nil {
				created.AddEnvironment(&name, value, nil)
			}
		}
	}
	f := p.protect(appcheck.NewProtected(scope, id), function)
	f.Alias, _ = function.(awslambda.Alias)
	f.afterGrants(function)
	return f
}

// declared returns the props of a function of this package with the declared facts.
func (p *ProtectProps) declared() IdempotentFunctionProps {
	d := filled(p, ProtectProps{Retention: day})
	return IdempotentFunctionProps{
		Execute: d.Execute, Key: d.Key, NoMetrics: d.NoMetrics,
		Operations: d.Operations, Postgres: d.Postgres, Redis: d.Redis, Retention: d.Retention, Table: d.Table, Timeout: d.Timeout,
	}
}

func (p *IdempotentFunctionProps) refuseProtected(function awslambda.IFunction) (found problems) {
	if function == nil {
		return problems{"function: it is required"}
	}
	found.when(function.Role() == nil,
		"function: it is imported without its role, and would get no permissions; use Function_FromFunctionAttributes with Role")
	found.when(!mayBeInvoked(function), "function: CDK would create no permission to invoke it; import it with SameEnvironment, or an alias or a version into a stack with their explicit account")
	found.when(appcheck.Unqualified(function) == function && strings.Count(*function.FunctionArn(), ":") > 6,
		"function: its ARN is that of an alias or a version, which queues and streams would ignore; use Alias_FromAliasAttributes or Version_FromVersionArn")
	if resource, created := appcheck.Unqualified(function).Node().DefaultChild().(awslambda.CfnFunction); created {
		found.when(resource.DurableConfig() != nil, "function: it is durable, and its sources would not wait for its executions; create it with Durable of NewIdempotentFunction")
		own := appcheck.Declared(resource.Timeout(), time.Second, 3*time.Second)
		found.when(p.Timeout != 0 && own != 0 && p.Timeout != own, "Timeout: %s is declared, and the function has %s", p.Timeout, own)
		p.Timeout = cmp.Or(own, p.Timeout)
	}
	if p.Timeout == 0 {
		found.when(true, "Timeout: it is required, because an import hides that of the function")
		p.Timeout = time.Second // which no further check reports
	}
	found.add(p.refuseFacts(), p.refuseStore())
	return found
}

// mayBeInvoked reports whether CDK creates permissions to invoke a function. Of an import, it
// only warns that it does not, unless the app has acknowledged that.
func mayBeInvoked(function awslambda.IFunction) bool {
	probe := constructs.NewConstruct(function.Stack(), jsii.String("OnceProbe"))
	function.AddPermission(jsii.String("Permission"), &awslambda.Permission{
		Action: jsii.String("lambda:GetFunction"), Principal: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil), Scope: probe,
	})
	function.Stack().Node().TryRemoveChild(probe.Node().Id())
	return !slices.ContainsFunc(*function.Node().Metadata(), func(m *constructs.MetadataEntry) bool {
		return strings.Contains(fmt.Sprint(m.Data), "UnclearLambdaEnvironment")
	})
}
