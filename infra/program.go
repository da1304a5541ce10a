package infra

import (
	"iter"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/bootstrap"
)

// deploy creates a Go function on provided.al2023 and arm64 with a log group of its own,
// and with the variables of its store. All constructs of this package deploy their
// functions by it.
func (p *IdempotentFunctionProps) deploy(own constructs.Construct, ephemeral bool, variables map[string]*string) awslambda.Function {
	environment := map[string]*string{"AWS_LAMBDA_LOG_LEVEL": &p.LogLevel}
	maps.Copy(environment, variables)
	for name, value := range p.Environment {
		environment[name] = &value
	}
	// A log group of the stack: LogRetention would deploy a function of its own to
	// set the retention.
	logs := newLogs(own, "Logs", ephemeral, p.LogRetention, p.Key)
	props := &awslambda.FunctionProps{
		Architecture: awslambda.Architecture_ARM_64(), Environment: &environment, Handler: jsii.String("bootstrap"), LogGroup: logs,
		MemorySize: jsii.Number(p.MemorySize), Runtime: awslambda.Runtime_PROVIDED_AL2023(), Timeout: seconds(p.Timeout), Tracing: p.Tracing,
	}
	if p.Code != "" {
		props.Code = awslambda.Code_FromAsset(&p.Code, nil)
	}
	if p.Durable != nil {
		// Suspended executions continue with the version that they began with, and CDK
		// replaces the version when the code changes.
		props.CurrentVersionOptions = &awslambda.VersionOptions{RemovalPolicy: removalPolicy(ephemeral)}
		props.DurableConfig = &awslambda.DurableConfig{ExecutionTimeout: seconds(p.Durable.ExecutionTimeout)}
		if p.Durable.Retention > 0 {
			props.DurableConfig.RetentionPeriod = awscdk.Duration_Days(jsii.Number(p.Durable.Retention / day))
		}
	}
	for _, s := range p.stores() { // a relay has none
		s.configure(props)
	}
	p.configure(own, props, logs)
	if p.Durable != nil {
		return p.newDurable(own, props)
	}
	return build(own, "", "Configure", func() awslambda.Function { return awslambda.NewFunction(own, jsii.String("Function"), props) })
}

// refuseProgram reports the mistakes in the props that deploy alone uses.
func (p *IdempotentFunctionProps) refuseProgram() (found problems) {
	found.when(p.Configure == nil && p.Code == "", "Code: it is required")
	if p.Configure == nil && p.Code != "" { // Configure may replace the code, or its architecture
		err := bootstrap.Check(p.Code, "arm64")
		found.when(err != nil, "Code: %v", err)
	}
	found.when(!slices.Contains([]string{"DEBUG", "INFO", "WARN", "ERROR"}, p.LogLevel), "LogLevel: %q is none of DEBUG, INFO, WARN and ERROR", p.LogLevel)
	found.when(p.MemorySize < 128 || p.MemorySize > 10240, "MemorySize: %d is not 128 to 10,240 MiB", p.MemorySize)
	found.when(p.Tracing != "" && !slices.Contains(tracings, p.Tracing), "Tracing: %q is none of awslambda.Tracing", p.Tracing)
	found.when(orZero(p.Live).ProvisionedConcurrency < 0, "Live.ProvisionedConcurrency: %d is negative", orZero(p.Live).ProvisionedConcurrency)
	found.add(p.Durable.refuse(), refuseLogRetention("LogRetention", p.LogRetention))
	return found
}

func wholeSeconds(d, least, most time.Duration) bool {
	return d >= least && d <= most && d%time.Second == 0
}

func seconds(d time.Duration) awscdk.Duration {
	return awscdk.Duration_Seconds(jsii.Number(d.Seconds()))
}

// filled returns defaults with the fields of props that are not zero. A constructor may
// get no props.
func filled[P any](props *P, defaults P) P {
	if props == nil {
		return defaults
	}
	from, to := reflect.ValueOf(props).Elem(), reflect.ValueOf(&defaults).Elem()
	for i := range from.NumField() {
		if field := from.Field(i); !field.IsZero() {
			to.Field(i).Set(field)
		}
	}
	return defaults
}

// orZero returns the props, or those of a constructor that gets none.
func orZero[P any](props *P) P {
	var zero P
	return filled(props, zero)
}

var variableName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]+$`)

// refuseEnvironment reports names that this package sets, and names that Lambda
// does not accept.
func refuseEnvironment(names iter.Seq[string], own map[string]*string) (found problems) {
	for _, name := range slices.Sorted(names) {
		_, set := own[name]
		switch {
		case set || name == "AWS_LAMBDA_LOG_LEVEL":
			found.when(true, "Environment: %s is set by this construct", name)
		case slices.Contains(reserved, name):
			found.when(true, "Environment: %s is reserved by Lambda, which sets it", name)
		case name == "ONCE_DISABLED":
			found.when(true, "Environment: ONCE_DISABLED is for unit tests of a handler; in a deployment, every duplicate would run")
		case !variableName.MatchString(name):
			found.when(true, "Environment: %q is not a letter followed by at least one letter, digit or _", name)
		}
	}
	return found
}

var tracings = []awslambda.Tracing{awslambda.Tracing_ACTIVE, awslambda.Tracing_DISABLED, awslambda.Tracing_PASS_THROUGH}

// reserved are the variables that only Lambda may set.
var reserved = []string{
	"AWS_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_DEFAULT_REGION", "AWS_EXECUTION_ENV", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
	"AWS_LAMBDA_FUNCTION_NAME", "AWS_LAMBDA_FUNCTION_VERSION", "AWS_LAMBDA_INITIALIZATION_TYPE", "AWS_LAMBDA_LOG_GROUP_NAME",
	"AWS_LAMBDA_LOG_STREAM_NAME", "AWS_LAMBDA_RUNTIME_API", "AWS_REGION", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
	"LAMBDA_RUNTIME_DIR", "LAMBDA_TASK_ROOT", "_HANDLER", "_X_AMZN_TRACE_ID",
}

func refuseLogRetention(name string, retention awslogs.RetentionDays) (found problems) {
	found.when(!slices.Contains(logRetentions, retention), "%s: %q is none of awslogs.RetentionDays", name, retention)
	return found
}

var logRetentions = []awslogs.RetentionDays{
	awslogs.RetentionDays_ONE_DAY, awslogs.RetentionDays_THREE_DAYS, awslogs.RetentionDays_FIVE_DAYS, awslogs.RetentionDays_ONE_WEEK,
	awslogs.RetentionDays_TWO_WEEKS, awslogs.RetentionDays_ONE_MONTH, awslogs.RetentionDays_TWO_MONTHS, awslogs.RetentionDays_THREE_MONTHS,
	awslogs.RetentionDays_FOUR_MONTHS, awslogs.RetentionDays_FIVE_MONTHS, awslogs.RetentionDays_SIX_MONTHS, awslogs.RetentionDays_ONE_YEAR,
	awslogs.RetentionDays_THIRTEEN_MONTHS, awslogs.RetentionDays_EIGHTEEN_MONTHS, awslogs.RetentionDays_TWO_YEARS, awslogs.RetentionDays_THREE_YEARS,
	awslogs.RetentionDays_FIVE_YEARS, awslogs.RetentionDays_SIX_YEARS, awslogs.RetentionDays_SEVEN_YEARS, awslogs.RetentionDays_EIGHT_YEARS,
	awslogs.RetentionDays_NINE_YEARS, awslogs.RetentionDays_TEN_YEARS, awslogs.RetentionDays_INFINITE,
}
