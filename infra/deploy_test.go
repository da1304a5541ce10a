package infra_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awselasticloadbalancingv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awselasticloadbalancingv2targets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
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

func httpAPI(stack awscdk.Stack, payments *infra.IdempotentFunction, certificate awscertificatemanager.ICertificate) awsapigatewayv2.HttpApi {
	callers := awsapigatewayv2authorizers.NewHttpJwtAuthorizer(jsii.String("Callers"), jsii.String("https://id.example.com"),
		&awsapigatewayv2authorizers.HttpJwtAuthorizerProps{JwtAudience: jsii.Strings("shop")})
	domain := awsapigatewayv2.NewDomainName(stack, jsii.String("Domain"), &awsapigatewayv2.DomainNameProps{
		Certificate: certificate, DomainName: jsii.String("api.example.com"),
	})
	api := payments.AddHTTPAPI("API", &infra.HTTPAPIProps{
		Configure: func(p *awsapigatewayv2.HttpApiProps) {
			p.DefaultAuthorizer = callers
			p.CorsPreflight = &awsapigatewayv2.CorsPreflightOptions{
				AllowHeaders:  jsii.Strings("Authorization", "Content-Type", "Idempotency-Key"),
				AllowMethods:  &[]awsapigatewayv2.CorsHttpMethod{awsapigatewayv2.CorsHttpMethod_POST},
				AllowOrigins:  jsii.Strings("https://shop.example.com"),
				ExposeHeaders: jsii.Strings("Idempotent-Replayed", "Retry-After"),
			}
			p.DefaultDomainMapping = &awsapigatewayv2.DomainMappingOptions{DomainName: domain}
			p.DisableExecuteApiEndpoint = jsii.Bool(true)
		},
		Routes: []string{"POST /payments"},
	})
	return api
}

func sharedAPI(stack awscdk.Stack, api awsapigatewayv2.IHttpApi, callers awsapigatewayv2.IHttpRouteAuthorizer, refunds *infra.IdempotentFunction) {
	awsapigatewayv2.NewHttpRoute(stack, jsii.String("Refund"), &awsapigatewayv2.HttpRouteProps{
		Authorizer:  callers, // an import hides its DefaultAuthorizer
		HttpApi:     api,
		Integration: awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("Refunds"), refunds.Function, nil),
		RouteKey:    awsapigatewayv2.HttpRouteKey_With(jsii.String("/payments/{id}/refunds"), awsapigatewayv2.HttpMethod_POST),
	})
}

func restAPI(stack awscdk.Stack, payments *infra.IdempotentFunction) {
	api := awsapigateway.NewRestApi(stack, jsii.String("REST"), &awsapigateway.RestApiProps{
		DefaultCorsPreflightOptions: &awsapigateway.CorsOptions{
			AllowHeaders: jsii.Strings("Authorization", "Content-Type", "Idempotency-Key"),
			AllowOrigins: jsii.Strings("https://shop.example.com"),
		},
		EndpointTypes: &[]awsapigateway.EndpointType{awsapigateway.EndpointType_REGIONAL},
	})
	call := awsapigateway.NewLambdaIntegration(payments.Function, &awsapigateway.LambdaIntegrationOptions{
		Timeout: awscdk.Duration_Minutes(jsii.Number(2)), // the raised quota of the account
	})
	key := &awsapigateway.MethodOptions{ApiKeyRequired: jsii.Bool(true)}
	api.Root().ResourceForPath(jsii.String("payments")).AddMethod(jsii.String("POST"), call, key)
	api.Root().ResourceForPath(jsii.String("payments/{id}")).AddMethod(jsii.String("GET"), call, key)
}

func loadBalancer(stack awscdk.Stack, listener awselasticloadbalancingv2.IApplicationListener, payments *infra.IdempotentFunction) {
	group := awselasticloadbalancingv2.NewApplicationTargetGroup(stack, jsii.String("Targets"), &awselasticloadbalancingv2.ApplicationTargetGroupProps{
		MultiValueHeadersEnabled: jsii.Bool(true), // they show that a request has two keys
		Targets:                  &[]awselasticloadbalancingv2.IApplicationLoadBalancerTarget{awselasticloadbalancingv2targets.NewLambdaTarget(payments.Function)},
		TargetType:               awselasticloadbalancingv2.TargetType_LAMBDA,
	})
	awselasticloadbalancingv2.NewApplicationListenerRule(stack, jsii.String("Rule"), &awselasticloadbalancingv2.ApplicationListenerRuleProps{
		Conditions: &[]awselasticloadbalancingv2.ListenerCondition{
			awselasticloadbalancingv2.ListenerCondition_PathPatterns(jsii.Strings("/payments", "/payments/*")),
		},
		Listener:     listener,
		Priority:     jsii.Number(10),
		TargetGroups: &[]awselasticloadbalancingv2.IApplicationTargetGroup{group},
	})
}

func functionURL(payments *infra.IdempotentFunction, partner awsiam.IRole) {
	url := payments.Function.AddFunctionUrl(&awslambda.FunctionUrlOptions{AuthType: awslambda.FunctionUrlAuthType_AWS_IAM})
	url.GrantInvokeUrl(partner)
}

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

func TestCodeOfThePagesIsAccepted(t *testing.T) {
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false), Outdir: jsii.String(t.TempDir())})
	stack := awscdk.NewStack(app, jsii.String("Shop"), nil)
	code := filepath.Join(t.TempDir(), "bootstrap.zip")
	check.Must(t, fake.WriteFunction(code))
	records := infra.NewIdempotencyTable(stack, "Records", &infra.IdempotencyTableProps{Resume: true})
	function := func(id string, timeout time.Duration, durable *infra.DurableOptions) *infra.IdempotentFunction {
		return infra.NewIdempotentFunction(stack, id, &infra.IdempotentFunctionProps{
			Code: code, Durable: durable, Retention: 28 * 24 * time.Hour, Table: records, Timeout: timeout,
		})
	}
	role := func(id string) awsiam.Role {
		return awsiam.NewRole(stack, &id, &awsiam.RoleProps{AssumedBy: awsiam.NewAccountRootPrincipal()})
	}

	certificate := awscertificatemanager.Certificate_FromCertificateArn(stack, jsii.String("Certificate"), jsii.String("arn:aws:acm:eu-west-1:111122223333:certificate/a"))
	httpAPI(stack, function("Payments", 30*time.Second, nil), certificate)
	shared := awsapigatewayv2.HttpApi_FromHttpApiAttributes(stack, jsii.String("Shared"), &awsapigatewayv2.HttpApiAttributes{HttpApiId: jsii.String("a1b2c3")})
	sharedAPI(stack, shared, awsapigatewayv2authorizers.NewHttpIamAuthorizer(), function("Refunds", 0, nil))
	slow := function("SlowPayments", 2*time.Minute, nil)
	restAPI(stack, slow)
	loadBalancer(stack, awselasticloadbalancingv2.ApplicationListener_FromApplicationListenerAttributes(stack, jsii.String("Listener"),
		&awselasticloadbalancingv2.ApplicationListenerAttributes{
			ListenerArn:   jsii.String("arn:aws:elasticloadbalancing:eu-west-1:111122223333:listener/app/shop/a1/b2"),
			SecurityGroup: awsec2.SecurityGroup_FromSecurityGroupId(stack, jsii.String("Group"), jsii.String("sg-1"), nil),
		}), slow)
	functionURL(slow, role("Partner"))

	orders := function("Orders", 0, nil)
	rule := awsevents.NewRule(stack, jsii.String("Paid"), &awsevents.RuleProps{EventPattern: &awsevents.EventPattern{Source: jsii.Strings("payments")}})
	asynchronousSources(orders, awssns.NewTopic(stack, jsii.String("Shipped"), nil), rule, awss3.NewBucket(stack, jsii.String("Uploads"), nil))
	clicks := awskinesis.Stream_FromStreamArn(stack, jsii.String("Clicks"), jsii.String("arn:aws:kinesis:eu-west-1:111122223333:stream/clicks"))
	streamSources(orders, clicks, awsdynamodb.NewTableV2(stack, jsii.String("Carts"), &awsdynamodb.TablePropsV2{
		DynamoStream: awsdynamodb.StreamViewType_NEW_IMAGE,
		PartitionKey: &awsdynamodb.Attribute{Name: jsii.String("id"), Type: awsdynamodb.AttributeType_STRING},
	}))

	grants(records, infra.NewOutbox(stack, "Outbox", nil), role("Service"), role("Resumer"), role("Sweeper"), role("Publisher"), role("OnCall"))
	dispatches(function("Pay", 0, &infra.DurableOptions{ExecutionTimeout: time.Hour}), role("Dispatcher"))
	stepFunctions(stack, orders, awsstepfunctions.NewPass(stack, jsii.String("Ask"), nil), awsstepfunctions.NewPass(stack, jsii.String("Refuse"), nil))
	text, err := os.ReadFile(filepath.Join(*app.Synth(nil).Directory(), "Shop.template.json"))
	check.Must(t, err)
	check.Contains(t, string(text), `\"id.$\":\"States.Format('{}/{}', $$.Execution.Id, $$.State.Name)\",\"input.$\":\"$\"`)
}
