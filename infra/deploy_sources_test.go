package infra_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctionstasks"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/fake"
)

// The code of docs/deploy.md and durable.md that examples do not have.

func asynchronousSources(orders *infra.IdempotentFunction, shipped awssns.ITopic, paid awsevents.Rule, uploads awss3.IBucket) {
	failures := orders.FailureQueue() // of events that the function gives up
	orders.Target().AddEventSource(awslambdaeventsources.NewSnsEventSource(shipped, &awslambdaeventsources.SnsEventSourceProps{
		DeadLetterQueue: failures, // and of those that SNS cannot deliver to Lambda
	}))
	paid.AddTarget(awseventstargets.NewLambdaFunction(orders.Target(), &awseventstargets.LambdaFunctionProps{
		DeadLetterQueue: failures,
		MaxEventAge:     awscdk.Duration_Hours(jsii.Number(6)), // 24 h by default
	}))
	orders.Target().AddEventSource(awslambdaeventsources.NewS3EventSourceV2(uploads, &awslambdaeventsources.S3EventSourceProps{
		Events: &[]awss3.EventType{awss3.EventType_OBJECT_CREATED},
	}))
}

func streamSources(orders *infra.IdempotentFunction, clicks awskinesis.IStream, carts awsdynamodb.ITable) {
	orders.AddStream("Clicks", clicks, &infra.StreamProps{
		MaxAge: 3 * 24 * time.Hour, // of a stream that keeps records for longer
	})
	orders.AddTableStream("Carts", carts, nil)
}

func stepFunctions(stack awscdk.Stack, orders *infra.IdempotentFunction, ask, refuse awsstepfunctions.IChainable) {
	execution, name := awsstepfunctions.JsonPath_StringAt(jsii.String("$$.Execution.Id")), awsstepfunctions.JsonPath_StringAt(jsii.String("$$.State.Name"))
	pay := awsstepfunctionstasks.NewLambdaInvoke(stack, jsii.String("PayTask"), &awsstepfunctionstasks.LambdaInvokeProps{
		LambdaFunction: orders.Target(),
		Payload: awsstepfunctions.TaskInput_FromObject(&map[string]any{
			"id":    awsstepfunctions.JsonPath_Format(jsii.String("{}/{}"), execution, name),
			"input": awsstepfunctions.JsonPath_ObjectAt(jsii.String("$")),
		}),
		PayloadResponseOnly:      jsii.Bool(true),
		QueryLanguage:            awsstepfunctions.QueryLanguage_JSON_PATH,                                    // JSONata would take the format for a text
		RetryOnServiceExceptions: jsii.Bool(false),                                                            // TaskRetry contains them
		TaskTimeout:              awsstepfunctions.Timeout_Duration(awscdk.Duration_Seconds(jsii.Number(90))), // a minute longer than the function's
	})
	pay.AddRetry(orders.TaskRetry(time.Hour))
	pay.AddCatch(ask, &awsstepfunctions.CatchProps{Errors: jsii.Strings("TimedOutError")})
	pay.AddCatch(refuse, &awsstepfunctions.CatchProps{Errors: jsii.Strings("CardDeclined")})
	awsstepfunctions.NewStateMachine(stack, jsii.String("Machine"), &awsstepfunctions.StateMachineProps{
		DefinitionBody: awsstepfunctions.DefinitionBody_FromChainable(pay),
		Timeout:        awscdk.Duration_Hours(jsii.Number(1)),
	})
}

func grants(table *infra.IdempotencyTable, outbox *infra.Outbox, service, resumer, sweeper, publisher, onCall awsiam.IGrantable) {
	table.GrantExecute(service, &infra.ExecuteOptions{Operations: []string{"place-order"}}) // on ECS, for example
	table.GrantResume(resumer, nil)
	table.GrantSweep(sweeper)
	outbox.GrantMark(publisher)
	table.GrantOperate(onCall)
	outbox.GrantOperate(onCall)
}

func dispatches(pay *infra.IdempotentFunction, dispatcher awsiam.IGrantable) {
	pay.GrantStartExecution(dispatcher)
	pay.GrantReadExecutions(dispatcher)
}

func TestSourcesAndGrantsOfThePagesAreAccepted(t *testing.T) {
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false), Outdir: jsii.String(t.TempDir())})
	stack := awscdk.NewStack(app, jsii.String("Shop"), nil)
	code := filepath.Join(t.TempDir(), "bootstrap.zip")
	check.Must(t, fake.WriteFunction(code))
	records := infra.NewIdempotencyTable(stack, "Records", &infra.IdempotencyTableProps{Resume: true})
	orders := infra.NewIdempotentFunction(stack, "Orders", &infra.IdempotentFunctionProps{Code: code, Retention: 28 * 24 * time.Hour, Table: records})

	rule := awsevents.NewRule(stack, jsii.String("Paid"), &awsevents.RuleProps{EventPattern: &awsevents.EventPattern{Source: jsii.Strings("payments")}})
	asynchronousSources(orders, awssns.NewTopic(stack, jsii.String("Shipped"), nil), rule, awss3.NewBucket(stack, jsii.String("Uploads"), nil))
	clicks := awskinesis.Stream_FromStreamArn(stack, jsii.String("Clicks"), jsii.String("arn:aws:kinesis:eu-west-1:111122223333:stream/clicks"))
	streamSources(orders, clicks, awsdynamodb.NewTableV2(stack, jsii.String("Carts"), &awsdynamodb.TablePropsV2{
		DynamoStream: awsdynamodb.StreamViewType_NEW_IMAGE,
		PartitionKey: &awsdynamodb.Attribute{Name: jsii.String("id"), Type: awsdynamodb.AttributeType_STRING},
	}))

	role := func(id string) awsiam.Role {
		return awsiam.NewRole(stack, &id, &awsiam.RoleProps{AssumedBy: awsiam.NewAccountRootPrincipal()})
	}
	grants(records, infra.NewOutbox(stack, "Outbox", nil), role("Service"), role("Resumer"), role("Sweeper"), role("Publisher"), role("OnCall"))
	pay := infra.NewIdempotentFunction(stack, "Pay", &infra.IdempotentFunctionProps{
		Code: code, Durable: &infra.DurableOptions{ExecutionTimeout: time.Hour}, Retention: 28 * 24 * time.Hour, Table: records,
	})
	dispatches(pay, role("Dispatcher"))
	stepFunctions(stack, orders, awsstepfunctions.NewPass(stack, jsii.String("Ask"), nil), awsstepfunctions.NewPass(stack, jsii.String("Refuse"), nil))
	text, err := os.ReadFile(filepath.Join(*app.Synth(nil).Directory(), "Shop.template.json"))
	check.Must(t, err)
	check.Contains(t, string(text), `\"id.$\":\"States.Format('{}/{}', $$.Execution.Id, $$.State.Name)\",\"input.$\":\"$\"`)
}
