package infra

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

// HTTPAPIProps are the props of [IdempotentFunction.AddHTTPAPI].
type HTTPAPIProps struct {
	// AccessLogRetention is the retention of the access log. Default: LogRetention
	// of the function.
	AccessLogRetention awslogs.RetentionDays

	// Authorizer identifies callers. The function derives the scope of its keys
	// from the identity. Default: none, which is refused without Public.
	Authorizer awsapigatewayv2.IHttpRouteAuthorizer

	// BurstLimit is the number of requests that may arrive at once. The API returns
	// status 429 beyond that. Default: 500, a tenth of the AWS limit for all APIs
	// of an account.
	BurstLimit int

	// Public lets anyone call. Callers then share their keys, unless the function
	// distinguishes them in another way. It excludes Authorizer. Default: false.
	Public bool

	// RateLimit is the sustained number of requests a second. The API returns
	// status 429 beyond that. Default: 1,000, a tenth of the AWS limit for all APIs
	// of an account.
	RateLimit int

	// Routes are methods with paths, such as "POST /payments" or "GET
	// /payments/{id}". A variable is a whole segment of the path. The last one may
	// be {proxy+}, which matches the rest of the path. Default: none, which is
	// refused.
	Routes []string
}

// maxHTTPTime is the time for which an HTTP API waits for its integration.
const maxHTTPTime = 30 * time.Second

// AddHTTPAPI puts the function behind an API Gateway HTTP API, with events of
// payload format 2.0. The API is throttled. Its access log contains the time, the
// address, the route, the status and the request ID of each request, but neither
// path, headers nor body.
//
// AddHTTPAPI panics with a [*PropsError] if the function's timeout, or that of its
// executions, is longer than such an API waits: 30 s.
func (f *IdempotentFunction) AddHTTPAPI(id string, props *HTTPAPIProps) awsapigatewayv2.HttpApi {
	p := filled(props, HTTPAPIProps{AccessLogRetention: f.props.LogRetention, BurstLimit: 500, RateLimit: 1000})
	append(p.refuse(f), refuseID(f.scope, id, "")...).panic(f.scope, id)
	api := awsapigatewayv2.NewHttpApi(f.scope, &id, &awsapigatewayv2.HttpApiProps{DefaultAuthorizer: p.Authorizer})
	p.watch(api, f.props.store().ephemeral())
	integration := awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("Integration"), f.target(), nil)
	for _, route := range p.Routes {
		method, path, _ := strings.Cut(route, " ") // refuseRoutes has checked it
		api.AddRoutes(&awsapigatewayv2.AddRoutesOptions{
			Integration: integration,
			Methods:     &[]awsapigatewayv2.HttpMethod{awsapigatewayv2.HttpMethod(method)},
			Path:        &path,
		})
	}
	f.watchServerErrors("the API", api.MetricServerError(metricOptions("Sum")))
	return api
}

func (p *HTTPAPIProps) refuse(f *IdempotentFunction) problems {
	found := f.refuseWait("an HTTP API", maxHTTPTime)
	found.when((p.Authorizer == nil) == !p.Public, "Public: state one of Authorizer and Public, which decides whether callers share their keys")
	found = append(found, refuseLogRetention("AccessLogRetention", p.AccessLogRetention)...)
	found.when(p.BurstLimit < 0, "BurstLimit: %d is negative", p.BurstLimit)
	found.when(p.RateLimit < 0, "RateLimit: %d is negative", p.RateLimit)
	found.when(len(p.Routes) == 0, "Routes: at least one is required")
	found = append(found, refuseRoutes(p.Routes)...)
	found.when(f.props.Timeout > maxHTTPTime,
		"Routes: the API returns 503 after %s, while the function may run for %s; lower its Timeout", maxHTTPTime, f.props.Timeout)
	return found
}

// accessLog is the format of a line of an access log. It contains the route and
// not the path, because a path may identify a customer. The texts of errors are
// in the log of the function.
const accessLog = `{"requestId":"$context.requestId","requestTime":"$context.requestTime","sourceIp":"$context.identity.sourceIp",` +
	`"routeKey":"$context.routeKey","protocol":"$context.protocol","status":"$context.status","responseLength":"$context.responseLength",` +
	`"responseLatency":"$context.responseLatency","errorType":"$context.error.responseType","authorizerError":"$context.authorizer.error",` +
	`"functionRequestId":"$context.integration.requestId","functionStatus":"$context.integration.integrationStatus",` +
	`"functionLatency":"$context.integration.latency"}`

// watch sets the access log and the limits of the API's default stage. HttpApi
// has no props for them.
func (p *HTTPAPIProps) watch(api awsapigatewayv2.HttpApi, ephemeral bool) {
	logs := awslogs.NewLogGroup(api, jsii.String("AccessLogs"), &awslogs.LogGroupProps{
		RemovalPolicy: removalPolicy(ephemeral), Retention: p.AccessLogRetention,
	})
	stage := api.DefaultStage().Node().DefaultChild().(awsapigatewayv2.CfnStage)
	stage.SetAccessLogSettings(&awsapigatewayv2.CfnStage_AccessLogSettingsProperty{
		DestinationArn: logs.LogGroupArn(), Format: jsii.String(accessLog),
	})
	stage.SetDefaultRouteSettings(&awsapigatewayv2.CfnStage_RouteSettingsProperty{
		ThrottlingBurstLimit: jsii.Number(p.BurstLimit), ThrottlingRateLimit: jsii.Number(p.RateLimit),
	})
}

// routePath matches / or segments, each a text or a variable. Neither CDK nor API
// Gateway accepts a / at the end.
var routePath = regexp.MustCompile(`^/$|^(/(` + segment + `|\{[\w.:-]+\}))*/(` + segment + `|\{[\w.:-]+\+?\})$`)

// segment matches the characters of a path in RFC 3986.
const segment = `[\w.~!$&'()*+,;=:@%-]+`

func refuseRoutes(routes []string) (found problems) {
	there := map[string]bool{}
	for _, route := range routes {
		method, path, _ := strings.Cut(route, " ") // a route without a path has no valid one
		known := slices.Contains([]string{"ANY", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}, method)
		found.when(!known || !routePath.MatchString(path),
			"Routes: %q is not a method and a path, as in \"POST /payments\" or \"GET /payments/{id}\"", route)
		found.when(there[routeID(route)], "Routes: %q is listed twice", route)
		there[routeID(route)] = true
	}
	return found
}

// routeID returns the part of a construct id by which CDK distinguishes routes.
func routeID(route string) string { return strings.ReplaceAll(route, "/", "--") }
