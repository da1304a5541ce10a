package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
)

// ProtectProps are the props of [Protect]. One of Table, Postgres and Redis is required,
// as well as Timeout if the function is an import; the zero value of every other field is
// its default.
type ProtectProps struct {
	// Execute narrows or widens the function's permissions on the table. Default:
	// the calls of the store, on all records.
	Execute *ExecuteOptions

	// FailureRetention is the retention of the failure queues; see
	// IdempotentFunctionProps. Default: 14 days.
	FailureRetention time.Duration

	// Operations are the names that the function's code passes to idempotent.New;
	// see IdempotentFunctionProps. Default: those of Execute.
	Operations []string

	// Postgres is the table of the records, in PostgreSQL. It is opened for the function,
	// which must be in a VPC.
	Postgres *PostgresStore

	// Redis is the server of the records. It is opened for the function, which must be in
	// a VPC.
	Redis *RedisStore

	// Retention is the Config.Retention of the function's code. It is compared with
	// the event sources; see IdempotentFunctionProps. Default: 24 h, that of package
	// idempotent.
	Retention time.Duration

	// Table is the table of the records.
	Table *IdempotencyTable

	// Timeout is the timeout of an invocation: whole seconds, 1 s to 15 min. It is
	// compared with the event sources, and with the function's own unless an import
	// hides that. Default: the function's own.
	Timeout time.Duration
}

// Protect connects a function of yours, or its alias or version, to the table of the
// records: it grants the calls of the store. Event sources, alarms and grants then
// work as for a function of [NewIdempotentFunction]. The sources invoke the alias or
// version that is given.
//
// A function that is created in the app gets IDEMPOTENCY_TABLE, the name of the table, or
// the variables of Postgres or Redis. For an import, an alias or a version, set them where
// the function is deployed.
//
// Import a function of the stack's account and Region with SameEnvironment. Otherwise
// CDK creates no permission to invoke it, and only warns: topics, rules, buckets and
// APIs would never reach the function.
//
// Protect panics with a [*PropsError] for props that cannot work. It also panics for an
// import without a role, which would get no permissions: use
// awslambda.Function_FromFunctionAttributes with Role.
func Protect(scope constructs.Construct, id string, function awslambda.IFunction, props *ProtectProps) *IdempotentFunction {
	p := props.declared()
	append(p.refuseProtected(function), refuseID(scope, id, "")...).panic(scope, id)
	if created, known := function.(awslambda.Function); known {
		for name, value := range p.store().variables() {
			created.AddEnvironment(&name, value, nil)
		}
	}
	f := p.protect(constructs.NewConstruct(scope, &id), function)
	f.Alias, _ = function.(awslambda.Alias)
	return f
}

// declared returns the declared facts, as for a function that this package creates.
func (p *ProtectProps) declared() IdempotentFunctionProps {
	d := filled(p, ProtectProps{FailureRetention: maxKept, Retention: day})
	return IdempotentFunctionProps{
		Execute: d.Execute, FailureRetention: d.FailureRetention, LogRetention: awslogs.RetentionDays_ONE_MONTH,
		Operations: d.Operations, Postgres: d.Postgres, Redis: d.Redis, Retention: d.Retention, Table: d.Table, Timeout: d.Timeout,
	}
}

func (p *IdempotentFunctionProps) refuseProtected(function awslambda.IFunction) (found problems) {
	if function == nil {
		found.when(true, "function: it is required")
		return found
	}
	found.when(function.Role() == nil,
		"function: it is imported without its role, and would get no permissions; use Function_FromFunctionAttributes with Role")
	resource, created := function.Node().DefaultChild().(awslambda.CfnFunction)
	found.when(created && resource.DurableConfig() != nil, "function: it is durable, and its sources would not wait for its executions; create it with Durable of NewIdempotentFunction")
	p.Timeout = found.timeout(function, p.Timeout)
	found = append(found, p.refuseFacts()...)
	return append(found, p.refuseStore()...)
}

// timeout returns the timeout that is declared, or that of a function of this app.
func (p *problems) timeout(function awslambda.IFunction, declared time.Duration) time.Duration {
	own := declared
	if created, known := function.(awslambda.Function); known {
		own = 3 * time.Second // the default of Lambda
		if t := created.Timeout(); t != nil && !*t.IsUnresolved() {
			own = time.Duration(*t.ToSeconds(nil)) * time.Second
		} else if t != nil {
			own = declared
		}
	}
	if own == 0 {
		p.when(true, "Timeout: it is required, because an import, an alias or a version hides that of the function")
		return time.Second
	}
	p.when(declared != 0 && declared != own, "Timeout: %s is declared, and the function has %s", declared, own)
	return own
}
