package infra

import (
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
)

// IdempotentFunctionProps are the props of [NewIdempotentFunction]. Code and
// Table are required; the zero value of every other field is its default.
type IdempotentFunctionProps struct {
	// Code is the path of a zip or a folder with an executable "bootstrap" for
	// arm64, as go build makes it with GOOS=linux GOARCH=arm64 -tags
	// lambda.norpc. The command local/cmd/lambdazip makes such a zip.
	Code string

	// Environment adds to IDEMPOTENCY_TABLE and AWS_LAMBDA_LOG_LEVEL, which
	// are set already. ONCE_DISABLED is refused.
	//
	// Default: none.
	Environment map[string]string

	// Execute narrows or widens what the function may do with the table.
	//
	// Default: what the store calls, on all records.
	Execute *ExecuteOptions

	// FailureRetention is how long the queues of streams and asynchronous
	// sources keep what Lambda has given up, for somebody to send it again:
	// whole seconds, 1 min to 14 days. Records have to outlive it.
	//
	// Default: 14 days.
	FailureRetention time.Duration

	// LogLevel is AWS_LAMBDA_LOG_LEVEL, for the function to read: DEBUG, INFO,
	// WARN or ERROR. Lambda itself filters nothing: it would take metrics in
	// the log (EMF) for lines of level INFO.
	//
	// Default: "INFO".
	LogLevel string

	// LogRetention is how long logs are kept.
	//
	// Default: one month.
	LogRetention awslogs.RetentionDays

	// MemorySize is the memory in MiB, 128 to 10,240.
	//
	// Default: 256.
	MemorySize int

	// Operations are the names that the function's code passes to
	// idempotent.New. They are stated here to be compared: an alarm on another
	// name never rings, and Execute refuses every call of one that it leaves out.
	//
	// Default: those of Execute.
	Operations []string

	// Retention is the Config.Retention of the function's code, stated here to
	// be compared: a record that is over before its event source has given up
	// lets a late delivery run again.
	//
	// Default: 24 h, that of package idempotent.
	Retention time.Duration

	// Table is the table of the records.
	Table *IdempotencyTable

	// Timeout ends an invocation: whole seconds, 1 s to 15 min.
	//
	// Default: 10 s.
	Timeout time.Duration
}

// IdempotentFunction is a function that uses Once. Make one with
// [NewIdempotentFunction], and give it event sources with its methods.
type IdempotentFunction struct {
	Function awslambda.Function

	props     IdempotentFunctionProps
	scope     constructs.Construct
	apis      []awsapigatewayv2.HttpApi
	queues    []*Queue
	sources   map[string]bool // by their paths
	streams   bool
	failures  []awssqs.Queue // of streams and asynchronous sources
	asyncSink awssqs.Queue   // nil before the first asynchronous source
}

// NewIdempotentFunction makes a Go function on provided.al2023 and arm64 with
// a log group of its own, lets it execute on the table, and tells it the
// table's name.
//
// It panics with a [*PropsError] for props that cannot work.
func NewIdempotentFunction(scope constructs.Construct, id string, props *IdempotentFunctionProps) *IdempotentFunction {
	p := props.withDefaults()
	append(p.refuse(), refuseID(scope, id, "")...).panic(scope, id)
	own := constructs.NewConstruct(scope, &id)
	function := p.program().deploy(own, "IDEMPOTENCY_TABLE", p.Table.Table.TableName())
	p.Table.GrantExecute(function, p.Execute)
	return &IdempotentFunction{Function: function, props: p, scope: own, sources: map[string]bool{}}
}

func (p *IdempotentFunctionProps) program() program {
	return program{
		code: p.Code, environment: p.Environment, ephemeral: p.Table != nil && p.Table.props.Ephemeral, failureRetention: p.FailureRetention,
		logLevel: p.LogLevel, logRetention: p.LogRetention, memorySize: p.MemorySize, timeout: p.Timeout,
	}
}

func (p *IdempotentFunctionProps) withDefaults() IdempotentFunctionProps {
	if p == nil {
		p = &IdempotentFunctionProps{}
	}
	filled, common := *p, p.program().withDefaults()
	filled.FailureRetention, filled.LogLevel, filled.LogRetention = common.failureRetention, common.logLevel, common.logRetention
	filled.MemorySize, filled.Timeout = common.memorySize, common.timeout
	if filled.Retention == 0 {
		filled.Retention = 24 * time.Hour
	}
	return filled
}

func (p *IdempotentFunctionProps) refuse() problems {
	found := p.program().refuse("IDEMPOTENCY_TABLE")
	found.when(p.Table == nil, "Table: it is required")
	found.when(p.Retention < 0, "Retention: %s is negative", p.Retention)
	found = append(found, refuseOperations(p.Operations)...)
	for _, operation := range p.Operations {
		found.when(p.Execute != nil && len(p.Execute.Operations) > 0 && !slices.Contains(p.Execute.Operations, operation),
			"Operations: Execute does not allow %q", operation)
	}
	_, disabled := p.Environment["ONCE_DISABLED"]
	found.when(disabled, "Environment: ONCE_DISABLED is for unit tests of a handler; deployed, every repetition runs")
	return found
}
