package infra

import (
	"reflect"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// RoutesProps are the props of [IdempotentFunction.AddRoutes]. Routes is required.
type RoutesProps struct {
	// Authorizer identifies callers. The function derives the scope of its keys from the
	// identity. Default: the DefaultAuthorizer of the API, which an import hides. Without any,
	// Public is required. NewHttpNoneAuthorizer counts as none.
	Authorizer awsapigatewayv2.IHttpRouteAuthorizer

	// Public lets anyone call, even if the API has a DefaultAuthorizer. Callers then share
	// their keys, unless the function distinguishes them in a different way. It excludes
	// Authorizer. Default: false.
	Public bool

	// Routes are methods with paths, such as "POST /payments" or "GET /payments/{id}". A
	// variable is a whole segment of the path. The last one may be {proxy+}, which matches the
	// rest of the path. "$default" matches every request that no other route of the API does.
	Routes []string
}

// AddRoutes puts the function behind an existing HTTP API, which several functions may share,
// with events of payload format 2.0. The API's throttling, access log and domain are yours.
// The routes belong to the stack of the function.
//
// AddRoutes panics with a [*PropsError] as [IdempotentFunction.AddHTTPAPI] does. API Gateway
// refuses a route that the API already has.
func (f *IdempotentFunction) AddRoutes(id string, api awsapigatewayv2.IHttpApi, props *RoutesProps) {
	p := orZero(props)
	found := refuseID(f.scope, id, "")
	if found.when(api == nil, "api: it is required"); api != nil {
		found = append(found, p.refuse(api.DefaultAuthorizer())...)
	}
	found.panic(f.scope, id)
	build(f.scope, id, "Routes", func() constructs.Construct {
		own := constructs.NewConstruct(f.scope, &id)
		f.route(own, api, &p)
		return own
	})
}

// route adds the routes to the API. Each has an integration of its own, so that none changes when
// a second one comes or goes.
func (f *IdempotentFunction) route(own constructs.Construct, api awsapigatewayv2.IHttpApi, p *RoutesProps) {
	authorizer := p.Authorizer
	if p.Public {
		authorizer = awsapigatewayv2.NewHttpNoneAuthorizer()
	}
	for _, route := range p.Routes {
		method, path, _ := strings.Cut(route, " ") // CDK refuses a route without a path
		key := awsapigatewayv2.HttpRouteKey_DEFAULT()
		if route != "$default" {
			key = awsapigatewayv2.HttpRouteKey_With(&path, awsapigatewayv2.HttpMethod(method))
		}
		awsapigatewayv2.NewHttpRoute(own, jsii.String(method+path), &awsapigatewayv2.HttpRouteProps{
			Authorizer: authorizer, HttpApi: api, RouteKey: key,
			Integration: awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("Integration"), f.target(), nil),
		})
	}
}

// refuse reports mistakes beside this default authorizer of an API.
func (p *RoutesProps) refuse(byDefault awsapigatewayv2.IHttpRouteAuthorizer) (found problems) {
	found.when(!identifies(p.Authorizer) && !identifies(byDefault) && !p.Public || identifies(p.Authorizer) && p.Public,
		"Public: state one of Authorizer and Public, which decides whether callers share their keys")
	found.when(len(p.Routes) == 0, "Routes: at least one is required")
	return found
}

// identifies reports whether an authorizer identifies callers. In Go, the one that does not has
// the methods of the others.
func identifies(authorizer awsapigatewayv2.IHttpRouteAuthorizer) bool {
	return authorizer != nil && reflect.TypeOf(authorizer) != reflect.TypeOf(awsapigatewayv2.NewHttpNoneAuthorizer())
}
