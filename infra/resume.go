package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// ResumeProps are the props of [NewResume]. Code, Operations and one of Table, Postgres and Redis
// are required; the zero value of every other field is its default. Code, Configure, Environment
// and Execute mean the same as in [IdempotentFunctionProps].
type ResumeProps struct {
	// Code is the path of a zip or a folder with an executable "bootstrap" for arm64.
	Code string

	// Configure changes the props of CDK before the function is created. Default: none.
	Configure func(*awslambda.FunctionProps)

	// Environment adds variables to those of the store. Default: none.
	Environment map[string]string

	// Execute narrows or widens the function's permissions on the table. Default: all records.
	Execute *ExecuteOptions

	// Interval is the time between the starts of two rounds: whole minutes, 1 min to 1 h. It is
	// also the timeout of the function, up to 15 min. Default: 5 min.
	Interval time.Duration

	// Notify are the topics that the alarms notify; see AlarmsProps. Default: none.
	Notify []awssns.ITopic

	// Operations are the names that the function's code passes to idempotent.New. Each has an
	// alarm.
	Operations []string

	// Postgres is the table of the records, in PostgreSQL.
	Postgres *PostgresStore

	// Redis is the server of the records.
	Redis *RedisStore

	// Table is the table of the records, with Resume.
	Table *IdempotencyTable
}

// A Resume is a scheduled function of handlers.Resume. Create one with [NewResume].
type Resume struct {
	// Alarms are one for each operation. They ring if work that its callers left behind waits
	// for longer than two intervals and 20 min, and if the function writes no metrics of package
	// emf, because it does not run.
	Alarms   []awscloudwatch.Alarm
	Function awslambda.Function
}

// NewResume creates a function of handlers.Resume, its schedule and its alarms. It may do on the
// records what the function may whose work it finishes, and also scan the index of the table, but
// not the table. Grant it what the handler needs besides.
//
// One round runs at a time, by a reserved concurrency of 1, which Configure can change: two only
// meet each other's claims. A round that fails is not retried, because the next one does the same.
//
// NewResume panics with a [*PropsError] for props that cannot work.
func NewResume(scope constructs.Construct, id string, props *ResumeProps) *Resume {
	p := filled(props, ResumeProps{Interval: 5 * time.Minute})
	program := (&IdempotentFunctionProps{
		Code: p.Code, Configure: p.Configure, Environment: p.Environment, Execute: p.Execute, Operations: p.Operations,
		Postgres: p.Postgres, Redis: p.Redis, Table: p.Table, Timeout: min(p.Interval, 15*time.Minute),
	}).withDefaults()
	append(p.refuse(&program), refuseID(scope, id, "")...).panic(scope, id)
	program.Configure = func(function *awslambda.FunctionProps) {
		function.ReservedConcurrentExecutions = jsii.Number(1)
		if p.Configure != nil {
			p.Configure(function)
		}
	}
	function, watch := program.deployScheduled(scope, id, p.Interval, jsii.Number(0), p.Notify)
	if p.Table != nil {
		p.Table.GrantResume(function, p.Execute)
	} else {
		program.store().connect(function, &program)
	}
	abandoned := signal{entry: catalog.Resume["Abandoned"]}
	late := 2*p.Interval + 20*time.Minute // the second round after the pause of ResumeOptions, and the run itself
	abandoned.Threshold = late.Seconds()
	for _, operation := range p.Operations {
		abandoned.metric = metric(abandoned.Metric, operation, abandoned.Statistic).With(&awscloudwatch.MetricOptions{Period: seconds(late)})
		watch.add(operation, []signal{abandoned})
	}
	return &Resume{Alarms: watch.made.Page, Function: function}
}

func (p *ResumeProps) refuse(program *IdempotentFunctionProps) (found problems) {
	found.add(program.refuse(), refuseTopics("Notify", p.Notify))
	found.when(len(p.Operations) == 0, "Operations: state the names that the code passes to idempotent.New; each has an alarm")
	found.when(!whole(p.Interval, time.Minute, time.Hour), "Interval: %s is not whole minutes, 1 min to 1 h", p.Interval)
	if p.Table != nil {
		found.add(p.Table.refuseResume())
	}
	return found
}
