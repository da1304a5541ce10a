package checks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/internal/policy"
)

// A Deployed is a function in AWS. It asks the questions that package infra asks of an app.
type Deployed struct {
	name   string
	lambda *lambda.Client
	sqs    *sqs.Client
	iam    *iam.Client

	function  string // its name, without an alias
	variables map[string]string
	timeout   time.Duration
	role      string
}

// Function checks a function and its sources. Of DynamoDB, the flags then name the
// function's table, and the role that is checked on it.
func Function(ctx context.Context, c *cli.Call, o *store.Flags, name string, found *Findings) (*Deployed, error) {
	if name == "" {
		return nil, cli.Endf(cli.CodeUsage, "--function is empty; is a variable unset?")
	}
	cfg, err := o.DynamoDB.Load(ctx, &o.Waits)
	if err != nil {
		return nil, err
	}
	// The endpoints are those of AWS, or of the variables of the SDK.
	d := &Deployed{name: name, lambda: lambda.NewFromConfig(cfg), sqs: sqs.NewFromConfig(cfg), iam: iam.NewFromConfig(cfg)}
	of, err := d.describe(ctx)
	if err != nil {
		return nil, err
	}
	table := ""
	if o.Kind() == store.OfDynamoDB {
		if !c.Given("table") {
			o.Table = cmp.Or(d.variables["IDEMPOTENCY_TABLE"], o.Table)
		}
		table, o.DynamoDB.Function = o.Table, d.function
	}
	d.checkVariables(of, table, found)
	d.checkAsync(ctx, of, found)
	d.checkSources(ctx, found)
	return d, nil
}

func (d *Deployed) describe(ctx context.Context) (*lambda.GetFunctionConfigurationOutput, error) {
	out, err := d.lambda.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &d.name})
	if missing := (*types.ResourceNotFoundException)(nil); errors.As(err, &missing) {
		return nil, cli.Endf(cli.CodeFailed, "there is no function %s in this account and Region: see --region and --profile", d.name)
	}
	if err != nil {
		return nil, err
	}
	if e := out.Environment; e != nil {
		d.variables = e.Variables
		if e.Error != nil {
			return nil, fmt.Errorf("the variables of %s cannot be read, as they are encrypted: %s", d.name, aws.ToString(e.Error.Message))
		}
	}
	d.function = aws.ToString(out.FunctionName)
	d.timeout, d.role = time.Duration(aws.ToInt32(out.Timeout))*time.Second, aws.ToString(out.Role)
	return out, nil
}

func (d *Deployed) checkVariables(of *lambda.GetFunctionConfigurationOutput, table string, found *Findings) {
	own := d.variables["IDEMPOTENCY_TABLE"]
	found.first("IDEMPOTENCY_TABLE", own,
		outcome{table == "", Fine, "not asked for, as the records are not in DynamoDB", ""},
		outcome{own == "", Warning, "not set: dynamoenv opens no table", "set it, unless the program names its table itself"},
		outcome{!isTable(own, table), Wrong, own + ", and the table is " + table, "set the variable to the table, or give --table"})
	off, set := d.variables["ONCE_DISABLED"]
	disabled, err := strconv.ParseBool(cmp.Or(off, "false"))
	found.first("ONCE_DISABLED", "",
		outcome{disabled, Wrong, off + ": every duplicate runs", "remove the variable"},
		outcome{set && err != nil, Wrong, strconv.Quote(off) + " is no truth value: the function does not start", "remove the variable"})
	level := ""
	if of.LoggingConfig != nil {
		level = string(of.LoggingConfig.ApplicationLogLevel)
	}
	found.first("metrics", d.variables["ONCE_METRICS"],
		outcome{d.variables["ONCE_METRICS"] == "", Warning, "off: no alarm on an operation can ring", "set ONCE_METRICS to emf, unless the program names an Observer"},
		outcome{d.variables["ONCE_METRICS"] != "emf", Wrong, strconv.Quote(d.variables["ONCE_METRICS"]) + " is none: the function does not start", "set it to emf"},
		outcome{slices.Contains([]string{"WARN", "ERROR", "FATAL"}, level), Wrong, "Lambda drops them, because the application log level is " + level, "set it to INFO, and the level of the program's logger instead"})
}

// checkAsync finds events that Lambda drops after two retries.
func (d *Deployed) checkAsync(ctx context.Context, of *lambda.GetFunctionConfigurationOutput, found *Findings) {
	const name = "asynchronous events"
	allowed, err := d.lambda.GetPolicy(ctx, &lambda.GetPolicyInput{FunctionName: &d.name})
	missing := (*types.ResourceNotFoundException)(nil)
	if errors.As(err, &missing) {
		return // no service may invoke it
	}
	if err != nil {
		found.notKnown("Lambda", name, err)
		return
	}
	services := slices.DeleteFunc([]string{"events.amazonaws.com", "s3.amazonaws.com", "sns.amazonaws.com"}, func(service string) bool {
		return !strings.Contains(aws.ToString(allowed.Policy), `"`+service+`"`)
	})
	if len(services) == 0 {
		return
	}
	invoke, err := d.lambda.GetFunctionEventInvokeConfig(ctx, &lambda.GetFunctionEventInvokeConfigInput{FunctionName: &d.name})
	if err != nil && !errors.As(err, &missing) {
		found.notKnown("Lambda", name, err)
		return
	}
	kept := of.DeadLetterConfig != nil && of.DeadLetterConfig.TargetArn != nil
	if err == nil && invoke.DestinationConfig != nil && invoke.DestinationConfig.OnFailure != nil {
		kept = kept || invoke.DestinationConfig.OnFailure.Destination != nil
	}
	from := strings.Join(services, ", ")
	found.first(name, "of "+from+"; those that fail are kept",
		outcome{!kept, Wrong, "of " + from + ": Lambda drops one that fails three times", "set OnFailure of the function's asynchronous invocations"})
}

// checkRole asks IAM for the rights of the function's role on items with these partition keys,
// and with the key that encrypts the table.
func (d *Deployed) checkRole(ctx context.Context, table *ddb.TableDescription, keys []string, group bool, found *Findings) {
	if table == nil {
		found.say("role", Warning, "not known, as the ARN of the table is not", "once policy --for check prints the permissions")
		return
	}
	actions := policy.Execute
	if group {
		actions = append(actions[:len(actions):len(actions)], policy.Group...)
	}
	of := aws.ToString(table.TableArn)
	d.simulate(ctx, of, actions, "dynamodb:LeadingKeys", keys, found)
	if sse := table.SSEDescription; sse != nil && sse.KMSMasterKeyArn != nil {
		d.simulate(ctx, *sse.KMSMasterKeyArn, policy.Key, "kms:ViaService", []string{policy.Service(of)}, found)
	}
	if of, role := account(of), account(d.role); of != role {
		found.say("account", Warning, "the table is of account "+of+", and the role of "+role+": the policy of the table is not known",
			"in account "+of+", allow the role the same actions in the policy of the table")
	}
}

func (d *Deployed) simulate(ctx context.Context, resource string, actions []string, condition string, values []string, found *Findings) {
	out, err := d.iam.SimulatePrincipalPolicy(ctx, &iam.SimulatePrincipalPolicyInput{
		PolicySourceArn: &d.role, ActionNames: actions, ResourceArns: []string{resource},
		ContextEntries: []iamtypes.ContextEntry{{ContextKeyName: &condition, ContextKeyType: iamtypes.ContextKeyTypeEnumStringList, ContextKeyValues: values}},
	})
	if err != nil {
		found.notKnown("IAM", "role", err)
		return
	}
	for _, result := range out.EvaluationResults {
		found.first(aws.ToString(result.EvalActionName), "the role may",
			outcome{result.EvalDecision != iamtypes.PolicyEvaluationDecisionTypeAllowed, Wrong, "the role may not: " + string(result.EvalDecision), toGrant})
	}
}

func account(text string) string {
	parsed, _ := arn.Parse(text) // ARNs of AWS's own answers
	return parsed.AccountID
}

// isTable reports whether two names or ARNs can name one table.
func isTable(a, b string) bool {
	return a == b || strings.HasSuffix(a, ":table/"+b) || strings.HasSuffix(b, ":table/"+a)
}
