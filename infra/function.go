package infra

import (
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctions"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/appcheck"
)

// IdempotentFunctionProps are the props of [NewIdempotentFunction]. Code and one of
// Table, Postgres, Redis and Dispatches are required; the zero value of every other
// field is its default.
type IdempotentFunctionProps struct {
	// Code is the path of a zip or a folder with an executable "bootstrap" for arm64. It
	// may be empty only if Configure sets an image. Build it with GOOS=linux GOARCH=arm64
	// and -tags lambda.norpc. The command local/cmd/lambdazip writes such a zip.
	Code string

	// Configure changes the props of CDK before the function is created, for everything
	// that has no prop here: a VPC, layers, a role, the memory (256 MiB), the log group (kept
	// for a month), tracing, reserved concurrency. It may set Architecture_X86_64, for which
	// Code must then be built, and an image in place of Code. A Role of yours may then write
	// to the log group; for a VPC, it needs the managed policy AWSLambdaVPCAccessExecutionRole.
	// [Check] examines the result. Default: none.
	Configure func(*awslambda.FunctionProps)

	// Dispatches makes the function a dispatcher, for durablefunc.Dispatch: it may
	// start executions of this durable function, and its environment has the ARN of
	// the function's alias as DURABLE_FUNCTION. It excludes Durable, Execute and
	// Table. Retention is then that of the executions' histories, which is how long
	// their names are known, and must not be longer. Default: none.
	Dispatches *IdempotentFunction

	// Durable makes the function a durable one, for durablefunc.Wrap. It gets an Alias, and
	// its role may make checkpoints and read its executions. A function that becomes durable,
	// or ceases to be, is replaced: to drain its queue first, create the new one under another
	// id. Configure may not set FunctionName. Default: none.
	Durable *DurableOptions

	// Environment adds variables to IDEMPOTENCY_TABLE, ONCE_METRICS and AWS_LAMBDA_LOG_LEVEL,
	// which is INFO. Once does not read the latter: the function's main sets the level of its
	// logger. Default: none.
	Environment map[string]string

	// Execute narrows or widens the function's permissions on the table. Default:
	// the calls of the store, on all records.
	Execute *ExecuteOptions

	// Key encrypts the logs, the failure queues, the queues of AddQueue, and the histories
	// of a durable function: inputs, steps and results of its executions. Its policy
	// then lets AWS use it for them; the policy of an imported key must do so already.
	// Default: keys of AWS.
	Key awskms.IKey

	// Live adds an alias of the function's newest version, which all event sources
	// invoke, and to which CodeDeploy can shift calls step by step. A durable function has one
	// in any case. Default: none.
	Live *LiveOptions

	// NoMetrics leaves out ONCE_METRICS, with which a function with a Table and without a
	// Config.Observer writes metrics into its log. Its operations then have no alarms and no
	// graphs. Default: false.
	NoMetrics bool

	// Operations are the names that the function's code passes to idempotent.New. They are
	// compared with those of alarms and of Execute: an alarm on any other name never rings,
	// and IAM refuses a name that Execute leaves out. Default: those of Execute.
	Operations []string

	// Postgres is the table of the records, in PostgreSQL. Configure puts the function into a
	// VPC that reaches it.
	Postgres *PostgresStore

	// Redis is the server of the records. Configure puts the function into a VPC that reaches
	// it.
	Redis *RedisStore

	// Retention is the Config.Retention of the function's code. It is compared with
	// the event sources: if a record expires before its source has given up, a late
	// delivery runs again. Default: 24 h, that of package idempotent.
	Retention time.Duration

	// Table is the table of the records. A dispatcher has none.
	Table *IdempotencyTable

	// Timeout is the timeout of an invocation: whole seconds, 1 s to 15 min. Default: 10 s.
	Timeout time.Duration
}

// LiveOptions configure the alias of a function. The zero value of every field is its
// default.
type LiveOptions struct {
	// ProvisionedConcurrency is the number of environments that Lambda keeps ready for
	// the alias, and bills for as long as they exist. Alias.AddAutoScaling changes it by
	// the load or the time. Default: 0, none.
	ProvisionedConcurrency int
}

// An IdempotentFunction is a function that uses Once. Create one with
// [NewIdempotentFunction], or protect one of yours with [Protect], and add event
// sources with its methods.
type IdempotentFunction struct {
	Function awslambda.IFunction

	// Alias names the newest version of a function with Live or Durable, or is the one
	// that was passed to [Protect]; it is nil otherwise, and for an import. The event
	// sources invoke it. Lambda refuses to invoke a durable function without one.
	Alias awslambda.Alias

	props     IdempotentFunctionProps
	scope     constructs.Construct
	known     *appcheck.Function
	asyncSink awssqs.Queue // nil before the first asynchronous source
}

// NewIdempotentFunction creates a Go function on provided.al2023 and arm64 with a
// log group of its own. It grants the function access to the table, and sets
// IDEMPOTENCY_TABLE to the table's name and ONCE_METRICS to "emf". A dispatcher has no
// table; see Dispatches.
//
// NewIdempotentFunction panics with a [*PropsError] for props that cannot work.
func NewIdempotentFunction(scope constructs.Construct, id string, props *IdempotentFunctionProps) *IdempotentFunction {
	p := props.withDefaults()
	append(p.refuse(), refuseID(scope, id, "")...).panic(scope, id)
	own := appcheck.NewProtected(scope, id)
	function := p.deploy(own, p.store().ephemeral(), p.variables())
	f := p.protect(own, function)
	f.Alias = p.newAlias(own, function)
	if p.Durable != nil {
		grantOwnExecutions(own, function, f.Alias)
	}
	return f
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

// Target returns the target of event sources: the alias of a function with Live or Durable, and
// the function itself without.
func (f *IdempotentFunction) Target() awslambda.IFunction {
	if f.Alias != nil {
		return f.Alias
	}
	return f.Function
}

// TaskRetry returns the retries of a state that invokes the function, for handlers.Invoke:
// conflicts, crashes, and errors of the store and of Lambda, with backoff, for longer than a crash
// leaves a claim. They do not contain TimedOutError, after which the effect may have happened:
// retry or catch it in the state. Catch permanent errors as well. TaskRetry panics with a
// [*PropsError] if records may expire before the 14 days are over in which an execution, with this
// timeout, can be redriven, or if no state machine waits for so long a durable function.
func (f *IdempotentFunction) TaskRetry(execution time.Duration) *awsstepfunctions.RetryProps {
	var found problems
	found.when(execution <= 0 || execution > 366*day, "execution: %s is not up to 366 days; state the timeout of the state machine", execution)
	found.when(f.props.Retention < execution+14*day, "Retention: %s is shorter than the %s for which an execution may be redriven", f.props.Retention, execution+14*day)
	found.when(f.props.Durable.timeout() > 15*time.Minute, "Durable.ExecutionTimeout: %s is longer than the 15m for which a state machine waits for the whole execution; start executions from a dispatcher (Dispatches)", f.props.Durable.timeout())
	found.panic(f.scope, "")
	n := 5 // after 5, 10, 20 … s
	for 5*time.Second<<n-5*time.Second < f.known.Longest()+time.Minute {
		n++
	}
	return &awsstepfunctions.RetryProps{
		BackoffRate: jsii.Number(2),
		Errors: jsii.Strings("InProgressError", "LeaseLostError", "StoreError", "Lambda.Unknown", "Runtime.ExitError", "Sandbox.Timedout", "States.Timeout",
			"Lambda.AWSLambdaException", "Lambda.ClientExecutionTimeoutException", "Lambda.SdkClientException", "Lambda.ServiceException", "Lambda.TooManyRequestsException"),
		Interval:    seconds(5 * time.Second),
		MaxAttempts: jsii.Number(n),
	}
}

// protect connects a function to its store, and adds its check.
func (p *IdempotentFunctionProps) protect(own *appcheck.Protected, function awslambda.IFunction) *IdempotentFunction {
	p.store().connect(function, p)
	known := &appcheck.Function{
		Function: function, Scope: own, Execution: p.Durable.timeout(), Retention: p.Retention, Timeout: p.Timeout, Variables: p.store().variables(),
	}
	known.Expiry, known.Advice = p.store().expiry()
	if p.Table != nil {
		known.Table, known.SortKey, known.Swept = p.Table.Table, p.Table.sortKey, p.Table.props.SweptElsewhere
	}
	f := &IdempotentFunction{Function: function, props: *p, scope: own, known: known}
	known.Sources = func(a *appcheck.App) (keys []string) {
		for _, s := range f.watched(a) {
			keys = append(keys, s.key())
		}
		return keys
	}
	own.Add(known)
	return f
}

func (p *IdempotentFunctionProps) withDefaults() IdempotentFunctionProps {
	defaults := IdempotentFunctionProps{Retention: 24 * time.Hour, Timeout: 10 * time.Second}
	if p != nil && p.Dispatches != nil {
		defaults.Retention = p.Dispatches.props.Durable.history()
	}
	return filled(p, defaults)
}

func (p *IdempotentFunctionProps) refuse() (found problems) {
	found.add(p.refuseProgram(), p.refuseFacts(), p.refuseStore())
	return found
}

// refuseFacts reports mistakes in the facts of the function's code.
func (p *IdempotentFunctionProps) refuseFacts() (found problems) {
	found.when(!whole(p.Timeout, time.Second, 15*time.Minute), "Timeout: %s is not whole seconds, 1 s to 15 min", p.Timeout)
	found.when(p.Retention < 0, "Retention: %s is negative", p.Retention)
	found.add(refuseKey(p.Key), refuseOperations(p.Operations))
	for _, operation := range p.Operations {
		found.when(p.Execute != nil && len(p.Execute.Operations) > 0 && !slices.Contains(p.Execute.Operations, operation),
			"Operations: Execute does not allow %q", operation)
	}
	return found
}
