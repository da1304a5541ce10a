package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/appcheck"
)

// SweepProps are the props of [NewSweep]. Code and one of Postgres and Table are
// required; the zero value of every other field is its default.
type SweepProps struct {
	// Code is the path of a zip or a folder with an executable "bootstrap" for arm64:
	// examples/sweep, or a program of yours.
	Code string

	// Configure changes the props of CDK before the function is created: its VPC, its memory,
	// its timeout of 15 min. The next run continues one that is out of time. Default: none.
	Configure func(*awslambda.FunctionProps)

	// Interval is the time between the starts of two runs: whole minutes, 1 min to 24 h. It
	// is required with Table, which each run reads as a whole: 50 GB are 6.5 million read
	// units, some 590 $ a month if it runs each hour. Default: 1 h with Postgres.
	Interval time.Duration

	// Notify are the topics that the alarm of the sweep notifies; see AlarmsProps.
	// Default: none.
	Notify []awssns.ITopic

	// Postgres is the store to sweep.
	Postgres *PostgresStore

	// Table is the table to sweep. examples/sweep is for one with the default attributes.
	Table *IdempotencyTable
}

// A Sweep is a scheduled function that deletes expired records. Create one with [NewSweep].
type Sweep struct {
	// Alarm rings when a run and its two retries have failed.
	Alarm    awscloudwatch.Alarm
	Function awslambda.Function
}

// NewSweep creates a function that deletes the expired records of a store without time to
// live, its schedule and its alarm. The function may sweep, and connects to the store as
// functions do. In a Table it may also write the item with the key "once sweep", where it
// stores its position.
//
// Runs may overlap: if one takes longer than Interval, or if EventBridge delivers an event
// twice. Each deletion has the condition that the record is still expired, so that two
// runs delete a record once, and never one that is claimed again.
//
// NewSweep panics with a [*PropsError] for props that cannot work.
func NewSweep(scope constructs.Construct, id string, props *SweepProps) *Sweep {
	p := orZero(props)
	if p.Interval == 0 && p.Table == nil {
		p.Interval = time.Hour
	}
	program := (&IdempotentFunctionProps{Code: p.Code, Configure: p.Configure, NoMetrics: true, Postgres: p.Postgres, Table: p.Table, Timeout: 15 * time.Minute}).withDefaults()
	append(p.refuse(&program), refuseID(scope, id, "")...).panic(scope, id)
	function, watch := program.deployScheduled(scope, id, p.Interval, nil, p.Notify)
	if p.Table != nil {
		p.Table.GrantSweep(function)
		p.Table.grant(function, statement{p.Table.arns, []string{"dynamodb:GetItem", "dynamodb:PutItem"}, conditions{
			"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": []string{"once sweep"}},
			"Null":                      {"dynamodb:LeadingKeys": "false"},
		}})
	} else {
		p.Postgres.connect(function, &program)
	}
	dropped := catalog.Sweep["Dropped"]
	dropped.Advice = id + ": " + dropped.Advice
	watch.add("", []signal{ofFunction(function, dropped)})
	return &Sweep{Alarm: watch.made.Ticket[0], Function: function}
}

// deployScheduled creates a function that runs at an interval, and no alarm yet. An event that
// waits longer is behind the next one.
func (p *IdempotentFunctionProps) deployScheduled(scope constructs.Construct, id string, interval time.Duration, retries *float64, notify []awssns.ITopic) (awslambda.Function, *alarms) {
	own := constructs.NewConstruct(scope, &id)
	function := p.deploy(own, p.store().ephemeral(), p.variables())
	function.ConfigureAsyncInvoke(&awslambda.EventInvokeConfigOptions{MaxEventAge: seconds(min(interval, appcheck.MaxEventAge)), RetryAttempts: retries})
	rule := awsevents.NewRule(own, jsii.String("Schedule"), &awsevents.RuleProps{Schedule: awsevents.Schedule_Rate(seconds(interval))})
	rule.AddTarget(awseventstargets.NewLambdaFunction(function, nil))
	return function, &alarms{scope: own, props: &AlarmsProps{Notify: notify}}
}

func (p *SweepProps) refuse(program *IdempotentFunctionProps) problems {
	found := append(program.refuseProgram(), refuseTopics("Notify", p.Notify)...)
	found.when((p.Table == nil) == (p.Postgres == nil), "Table, Postgres: state one of them")
	for _, s := range program.stores() {
		found = append(found, s.refuse(program)...)
	}
	found.when(!whole(p.Interval, time.Minute, day),
		"Interval: %s is not whole minutes, 1 min to 24 h; with Table it is required, because each run reads the whole table", p.Interval)
	return found
}
