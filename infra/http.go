package infra

import (
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/jsii-runtime-go"
)

// HTTPAPIProps are the props of [IdempotentFunction.AddHTTPAPI].
type HTTPAPIProps struct {
	// Authorizer says who calls; the function takes the scope of its keys
	// from what it finds. Exactly one of Authorizer and Public is required.
	Authorizer awsapigatewayv2.IHttpRouteAuthorizer

	// Public lets everybody call. Callers then share their keys, unless the
	// function tells them apart in another way.
	//
	// Default: false.
	Public bool

	// Routes are method and path, "POST /payments" or "GET /payments/{id}". A
	// variable is a whole segment of the path, and the last one may be {proxy+},
	// which takes the rest. At least one route is required.
	Routes []string
}

// maxHTTPTime is when an HTTP API gives up on its integration.
const maxHTTPTime = 30 * time.Second

// AddHTTPAPI puts the function behind an API Gateway HTTP API, with events of
// payload format 2.0.
//
// It panics with a [*PropsError] for a function that may run longer than such
// an API waits.
func (f *IdempotentFunction) AddHTTPAPI(id string, props *HTTPAPIProps) awsapigatewayv2.HttpApi {
	if props == nil {
		props = &HTTPAPIProps{}
	}
	append(props.refuse(f), refuseID(f.scope, id, "")...).panic(f.scope, id)
	api := awsapigatewayv2.NewHttpApi(f.scope, &id, &awsapigatewayv2.HttpApiProps{DefaultAuthorizer: props.Authorizer})
	integration := awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("Integration"), f.Function, nil)
	for _, route := range props.Routes {
		method, path, _ := strings.Cut(route, " ")
		api.AddRoutes(&awsapigatewayv2.AddRoutesOptions{
			Integration: integration,
			Methods:     &[]awsapigatewayv2.HttpMethod{awsapigatewayv2.HttpMethod(method)},
			Path:        &path,
		})
	}
	f.apis = append(f.apis, api)
	return api
}

func (p *HTTPAPIProps) refuse(f *IdempotentFunction) problems {
	var found problems
	found.when((p.Authorizer == nil) == !p.Public, "Public: state one of Authorizer and Public, which decides whether callers share their keys")
	found.when(len(p.Routes) == 0, "Routes: at least one is required")
	found = append(found, refuseRoutes(p.Routes)...)
	found.when(f.props.Timeout > maxHTTPTime,
		"Routes: the API answers 503 after %s, while the function may run for %s; lower its Timeout", maxHTTPTime, f.props.Timeout)
	return found
}
