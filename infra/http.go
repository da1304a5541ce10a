package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

// HTTPAPIProps are the props of [IdempotentFunction.AddHTTPAPI]. Routes is required.
type HTTPAPIProps struct {
	// AccessLogRetention is the retention of the access log. Default: LogRetention of the function.
	AccessLogRetention awslogs.RetentionDays

	// Authorizer is as in [RoutesProps]. Default: none, which is refused without Public.
	Authorizer awsapigatewayv2.IHttpRouteAuthorizer

	// BurstLimit is the number of requests that may arrive at once, before the API returns
	// status 429. Default: 500. AWS has 5,000 for all APIs of an account.
	BurstLimit int

	// Configure changes the props of CDK before the API is created, such as
	// DefaultDomainMapping and CorsPreflight. It must leave
	// DefaultAuthorizer to Authorizer, and the default stage in place. Default: none.
	Configure func(*awsapigatewayv2.HttpApiProps)

	// Public is as in [RoutesProps]. Default: false.
	Public bool

	// RateLimit is the sustained number of requests a second, before the API returns status
	// 429. Default: 1,000. AWS has 10,000 for all APIs of an account.
	RateLimit int

	// Routes are as in [RoutesProps].
	Routes []string
}

// maxHTTPTime is the time for which an HTTP API waits for its integration.
const maxHTTPTime = 30 * time.Second

// AddHTTPAPI puts the function behind an API Gateway HTTP API, with events of payload format
// 2.0. The API is throttled. Its access log contains the time, the address, the route, the
// status and the request ID of each request, but neither path, headers nor body.
//
// AddHTTPAPI panics with a [*PropsError] if the function's timeout, or that of its
// executions, is longer than such an API waits: 30 s.
func (f *IdempotentFunction) AddHTTPAPI(id string, props *HTTPAPIProps) awsapigatewayv2.HttpApi {
	p := filled(props, HTTPAPIProps{AccessLogRetention: f.props.LogRetention, BurstLimit: 500, RateLimit: 1000})
	routes := RoutesProps{Authorizer: p.Authorizer, Public: p.Public, Routes: p.Routes}
	made := awsapigatewayv2.HttpApiProps{DefaultAuthorizer: p.Authorizer}
	if p.Configure != nil {
		p.Configure(&made)
	}
	found := append(routes.refuse(f, made.DefaultAuthorizer), refuseID(f.scope, id, "")...)
	found = append(found, refuseLogRetention("AccessLogRetention", p.AccessLogRetention)...)
	found.when(p.BurstLimit < 0, "BurstLimit: %d is negative", p.BurstLimit)
	found.when(made.DefaultAuthorizer != p.Authorizer, "Configure: set Authorizer in place of DefaultAuthorizer")
	found.when(made.CreateDefaultStage != nil && !*made.CreateDefaultStage,
		"Configure: CreateDefaultStage is false, and the access log and the limits are those of the default stage; make the API yourself, and call AddRoutes")
	found.when(p.RateLimit < 0, "RateLimit: %d is negative", p.RateLimit)
	found.panic(f.scope, id)
	api := build(f.scope, id, "Configure", func() awsapigatewayv2.HttpApi { return awsapigatewayv2.NewHttpApi(f.scope, &id, &made) })
	p.watch(api, f)
	f.route(api, api, &routes)
	return api
}

// refuseSlow reports a function that may run longer than its caller waits.
func (f *IdempotentFunction) refuseSlow(source string, longest time.Duration) problems {
	found := f.refuseWait(source, longest)
	found.when(f.props.Timeout > longest, "Timeout: %s returns an error after %s, while the function may run for %s; lower its Timeout",
		source, longest, f.props.Timeout)
	return found
}

// accessLog is the format of a line of an access log. It contains the route and not the path,
// because a path may identify a customer. The texts of errors are in the log of the function.
const accessLog = `{"requestId":"$context.requestId","requestTime":"$context.requestTime","sourceIp":"$context.identity.sourceIp",` +
	`"routeKey":"$context.routeKey","protocol":"$context.protocol","status":"$context.status","responseLength":"$context.responseLength",` +
	`"responseLatency":"$context.responseLatency","errorType":"$context.error.responseType","authorizerError":"$context.authorizer.error",` +
	`"functionRequestId":"$context.integration.requestId","functionStatus":"$context.integration.integrationStatus",` +
	`"functionLatency":"$context.integration.latency"}`

// watch sets the access log and the limits of the API's default stage, which HttpApi has no
// props for.
func (p *HTTPAPIProps) watch(api awsapigatewayv2.HttpApi, f *IdempotentFunction) {
	logs := newLogs(api, "AccessLogs", f.props.store().ephemeral(), p.AccessLogRetention, f.props.Key)
	stage := api.DefaultStage().Node().DefaultChild().(awsapigatewayv2.CfnStage)
	stage.SetAccessLogSettings(&awsapigatewayv2.CfnStage_AccessLogSettingsProperty{
		DestinationArn: logs.LogGroupArn(), Format: jsii.String(accessLog),
	})
	stage.SetDefaultRouteSettings(&awsapigatewayv2.CfnStage_RouteSettingsProperty{
		ThrottlingBurstLimit: jsii.Number(p.BurstLimit), ThrottlingRateLimit: jsii.Number(p.RateLimit),
	})
}
