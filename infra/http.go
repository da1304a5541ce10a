package infra

import (
	"reflect"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

// HTTPAPIProps are the props of [IdempotentFunction.AddHTTPAPI]. Routes is required.
type HTTPAPIProps struct {
	// Configure changes the props of CDK before the API is created, such as DefaultAuthorizer,
	// DefaultDomainMapping and CorsPreflight. It must leave the default stage in place. Default:
	// none.
	Configure func(*awsapigatewayv2.HttpApiProps)

	// Public lets anyone call, even if there is a DefaultAuthorizer. It is required without one;
	// NewHttpNoneAuthorizer counts as none. Callers then share their keys, unless the function
	// distinguishes them in a different way. Default: false.
	Public bool

	// Routes are methods with paths, such as "POST /payments" or "GET /payments/{id}". A
	// variable is a whole segment of the path. The last one may be {proxy+}, which matches the
	// rest of the path. "$default" matches every request that no other route does.
	Routes []string
}

// AddHTTPAPI puts the function behind an API Gateway HTTP API, with events of payload format
// 2.0. The API is throttled, at 1,000 requests a second and 500 at once. Its access log is kept
// for a month, and contains the time, the address, the route, the status and the request ID of
// each request, but neither path, headers nor body.
//
// AddHTTPAPI panics with a [*PropsError] without a DefaultAuthorizer and Public, and for props
// that CDK refuses. [Check] finds a function that may run for longer than such an API waits: 30 s.
func (f *IdempotentFunction) AddHTTPAPI(id string, props *HTTPAPIProps) awsapigatewayv2.HttpApi {
	p := orZero(props)
	var made awsapigatewayv2.HttpApiProps
	if p.Configure != nil {
		p.Configure(&made)
	}
	found := refuseID(f.scope, id, "")
	found.when(!p.Public && !identifies(made.DefaultAuthorizer), "Public: state it or a DefaultAuthorizer, which decides whether callers share their keys")
	found.when(len(p.Routes) == 0, "Routes: at least one is required")
	found.when(made.CreateDefaultStage != nil && !*made.CreateDefaultStage,
		"Configure: CreateDefaultStage is false, and the access log and the limits are those of the default stage; make the API with CDK, and its routes")
	found.panic(f.scope, id)
	return build(f.scope, id, "Configure, Routes", func() awsapigatewayv2.HttpApi {
		api := awsapigatewayv2.NewHttpApi(f.scope, &id, &made)
		f.watchStage(api)
		f.route(api, &p)
		return api
	})
}

// identifies reports whether an authorizer identifies callers. In Go, the one that does not has
// the methods of the others.
func identifies(authorizer awsapigatewayv2.IHttpRouteAuthorizer) bool {
	return authorizer != nil && reflect.TypeOf(authorizer) != reflect.TypeOf(awsapigatewayv2.NewHttpNoneAuthorizer())
}

// route adds the routes to the API. Each has an integration of its own, so that none changes when
// a second one comes or goes.
func (f *IdempotentFunction) route(api awsapigatewayv2.HttpApi, p *HTTPAPIProps) {
	var authorizer awsapigatewayv2.IHttpRouteAuthorizer // nil: that of the API
	if p.Public {
		authorizer = awsapigatewayv2.NewHttpNoneAuthorizer()
	}
	for _, route := range p.Routes {
		method, path, _ := strings.Cut(route, " ") // CDK refuses a route without a path
		key := awsapigatewayv2.HttpRouteKey_DEFAULT()
		if route != "$default" {
			key = awsapigatewayv2.HttpRouteKey_With(&path, awsapigatewayv2.HttpMethod(method))
		}
		awsapigatewayv2.NewHttpRoute(api, jsii.String(method+path), &awsapigatewayv2.HttpRouteProps{
			Authorizer: authorizer, HttpApi: api, RouteKey: key,
			Integration: awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("Integration"), f.Target(), nil),
		})
	}
}

// accessLog is the format of a line of an access log. It contains the route and not the path,
// because a path may identify a customer. The texts of errors are in the log of the function.
const accessLog = `{"requestId":"$context.requestId","requestTime":"$context.requestTime","sourceIp":"$context.identity.sourceIp",` +
	`"routeKey":"$context.routeKey","protocol":"$context.protocol","status":"$context.status","responseLength":"$context.responseLength",` +
	`"responseLatency":"$context.responseLatency","errorType":"$context.error.responseType","authorizerError":"$context.authorizer.error",` +
	`"functionRequestId":"$context.integration.requestId","functionStatus":"$context.integration.integrationStatus",` +
	`"functionLatency":"$context.integration.latency"}`

// watchStage sets the access log and the limits of the API's default stage, which HttpApi has no
// props for.
func (f *IdempotentFunction) watchStage(api awsapigatewayv2.HttpApi) {
	logs := newLogs(api, "AccessLogs", f.props.store().ephemeral(), awslogs.RetentionDays_ONE_MONTH, f.props.Key)
	stage := api.DefaultStage().Node().DefaultChild().(awsapigatewayv2.CfnStage)
	stage.SetAccessLogSettings(&awsapigatewayv2.CfnStage_AccessLogSettingsProperty{
		DestinationArn: logs.LogGroupArn(), Format: jsii.String(accessLog),
	})
	stage.SetDefaultRouteSettings(&awsapigatewayv2.CfnStage_RouteSettingsProperty{
		ThrottlingBurstLimit: jsii.Number(500), ThrottlingRateLimit: jsii.Number(1000),
	})
}
