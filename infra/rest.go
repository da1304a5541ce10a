package infra

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// RESTRoutesProps are the props of [IdempotentFunction.AddRESTRoutes]. Routes is required.
type RESTRoutesProps struct {
	// IntegrationTimeout is the time for which the API waits for the function. More than 29 s
	// need a Regional or private API and a raised quota of the account, which is not checked.
	// Default: 29 s.
	IntegrationTimeout time.Duration

	// Method are the options of each method, such as Authorizer, AuthorizationType and
	// ApiKeyRequired. Default: the DefaultMethodOptions of the resource. If neither identifies
	// callers, Public is required.
	Method *awsapigateway.MethodOptions

	// Public is as in [RoutesProps], and excludes a Method that identifies callers. Default: false.
	Public bool

	// Routes are methods with paths below the resource, such as "POST /payments", or "POST /"
	// for the resource itself. A variable is a whole segment of the path, and the last one may
	// be {proxy+}. A level of the path has one variable.
	Routes []string
}

// maxRESTTime is the time for which a REST API waits for its integration, unless the quota is
// raised.
const maxRESTTime = 29 * time.Second

// AddRESTRoutes puts the function behind a REST API, with the events of a proxy integration.
// Pass the Root of the API, or one of its resources, made or imported. The methods belong to
// the stack of the resource. CDK deploys an API of the app again with them; an imported API
// needs a deployment of yours, and for its alarm the RestApiName in its attributes. With
// CORS, the preflight options must allow Idempotency-Key, which CDK's default does not. The
// handler sets the CORS headers of its responses.
//
// AddRESTRoutes panics with a [*PropsError] if the function's timeout, or that of its
// executions, is longer than IntegrationTimeout.
func (f *IdempotentFunction) AddRESTRoutes(at awsapigateway.IResource, props *RESTRoutesProps) {
	p := filled(props, RESTRoutesProps{IntegrationTimeout: maxRESTTime})
	p.refuse(f, at).panic(f.scope, "")
	options := &awsapigateway.LambdaIntegrationOptions{AllowTestInvoke: jsii.Bool(false)}
	if p.IntegrationTimeout != maxRESTTime {
		options.Timeout = seconds(p.IntegrationTimeout)
	}
	integration := awsapigateway.NewLambdaIntegration(f.target(), options)
	method := orZero(p.Method)
	if p.Public {
		method.AuthorizationType = awsapigateway.AuthorizationType_NONE
	}
	for _, route := range p.Routes {
		verb, path, _ := strings.Cut(route, " ") // refuseRoutes has checked it
		resource := at
		if path != "/" {
			resource = at.ResourceForPath(jsii.String(path[1:]))
		}
		build(f.scope, "", "Method", func() awsapigateway.Method { return resource.AddMethod(&verb, integration, &method) })
	}
	f.watchServerErrors("the API", awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		DimensionsMap: &map[string]*string{"ApiName": at.Api().RestApiName()}, MetricName: jsii.String("5XXError"),
		Namespace: jsii.String("AWS/ApiGateway"), Period: period(), Statistic: jsii.String("Sum"),
	}))
}

// restPath matches the paths that CDK accepts for REST APIs.
var restPath = regexp.MustCompile(`^(/([\w.:$-]*|\{[\w.:$-]+\+?\}))+$`)

func (p *RESTRoutesProps) refuse(f *IdempotentFunction, at awsapigateway.IResource) problems {
	found := f.refuseSlow("a REST API", p.IntegrationTimeout)
	if at == nil {
		return append(found, "at: it is required")
	}
	found.when(p.IntegrationTimeout > maxRESTTime && isEdgeOptimized(at.Api()),
		"IntegrationTimeout: an edge-optimized API waits for 29 s at most; set EndpointTypes to REGIONAL or PRIVATE")
	found.when(p.IntegrationTimeout < 50*time.Millisecond || p.IntegrationTimeout > 5*time.Minute, "IntegrationTimeout: %s is not 50 ms to 5 min", p.IntegrationTimeout)
	own := identifies(p.Method)
	found.when(own == p.Public && (own || !identifies(at.DefaultMethodOptions())),
		"Public: state one of Public and a Method that identifies callers, which decides whether callers share their keys")
	paths, existing := restRoutes(at)
	found = append(found, refuseRoutes(p.Routes, existing)...)
	cors := at.DefaultCorsPreflightOptions()
	for _, route := range p.Routes {
		method, path, _ := strings.Cut(route, " ") // refuseRoutes reports a route without a path
		found.when(route == defaultRoute || routePath.MatchString(path) && !restPath.MatchString(path),
			"Routes: REST APIs have no %q; segments of their paths are letters, digits, _, ., :, $ and -", route)
		found.when(cors != nil && method == "OPTIONS", "Routes: %q is the preflight request that CORS handles", route)
		paths = append(paths, path)
	}
	found = append(found, refuseVariables(paths, true)...)
	found.when(cors != nil && lacks(orZero(cors).AllowHeaders, orZero(cors).AllowCredentials, "Idempotency-Key"), keyNotAllowed)
	return found
}

// isEdgeOptimized reports whether an API of the app has the endpoint that is AWS's default.
func isEdgeOptimized(api awsapigateway.IRestApi) bool {
	made, ok := api.Node().DefaultChild().(awsapigateway.CfnRestApi)
	if !ok || made.EndpointConfiguration() == nil {
		return ok
	}
	return strings.Contains(fmt.Sprint(api.Stack().Resolve(made.EndpointConfiguration())), "EDGE")
}

// identifies reports whether the callers of a method have an identity.
func identifies(o *awsapigateway.MethodOptions) bool {
	authorization := orZero(o).AuthorizationType
	return orZero(o).Authorizer != nil || authorization != "" && authorization != awsapigateway.AuthorizationType_NONE ||
		o != nil && o.ApiKeyRequired != nil && *o.ApiKeyRequired
}

// restRoutes returns the paths and the routes below a resource.
func restRoutes(at awsapigateway.IResource) (paths, routes []string) {
	above := strings.TrimSuffix(*at.Path(), "/")
	for _, c := range *at.Node().FindAll(constructs.ConstructOrder_PREORDER) {
		switch c := c.(type) {
		case awsapigateway.Resource:
			paths = append(paths, strings.TrimPrefix(*c.Path(), above))
		case awsapigateway.Method:
			path := strings.TrimPrefix(*c.Resource().Path(), above)
			routes = append(routes, *c.HttpMethod()+" "+cmp.Or(path, "/"))
		}
	}
	return paths, routes
}
