package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

// HTTPAPIProps are the props of [IdempotentFunction.AddHTTPAPI]. Routes is required.
type HTTPAPIProps struct {
	// Configure changes the props of CDK before the API is created, such as DefaultAuthorizer,
	// DefaultDomainMapping and CorsPreflight. It must leave the default stage in place. Default:
	// none.
	Configure func(*awsapigatewayv2.HttpApiProps)

	// Public is as in [RoutesProps]. It is required without a DefaultAuthorizer. Default: false.
	Public bool

	// Routes are as in [RoutesProps].
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
	routes := RoutesProps{Public: p.Public, Routes: p.Routes}
	found := append(routes.refuse(made.DefaultAuthorizer), refuseID(f.scope, id, "")...)
	found.when(made.CreateDefaultStage != nil && !*made.CreateDefaultStage,
		"Configure: CreateDefaultStage is false, and the access log and the limits are those of the default stage; make the API yourself, and call AddRoutes")
	found.panic(f.scope, id)
	return build(f.scope, id, "Configure, Routes", func() awsapigatewayv2.HttpApi {
		api := awsapigatewayv2.NewHttpApi(f.scope, &id, &made)
		f.watchStage(api)
		f.route(api, api, &routes)
		return api
	})
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
