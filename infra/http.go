package infra

import (
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

// HTTPAPIProps are the props of [IdempotentFunction.AddHTTPAPI].
type HTTPAPIProps struct {
	// AccessLogRetention is how long the access log is kept.
	//
	// Default: LogRetention of the function.
	AccessLogRetention awslogs.RetentionDays

	// Authorizer says who calls; the function takes the scope of its keys
	// from what it finds.
	//
	// Default: none, which is refused without Public.
	Authorizer awsapigatewayv2.IHttpRouteAuthorizer

	// BurstLimit is how many requests may come at once. The API returns status 429
	// beyond that.
	//
	// Default: 500, a tenth of what AWS allows all APIs of an account.
	BurstLimit int

	// Public lets everybody call. Callers then share their keys, unless the
	// function tells them apart in another way. It excludes Authorizer.
	//
	// Default: false.
	Public bool

	// RateLimit is how many requests a second the API takes over a while. It
	// returns status 429 beyond that.
	//
	// Default: 1,000, a tenth of what AWS allows all APIs of an account.
	RateLimit int

	// Routes are method and path, "POST /payments" or "GET /payments/{id}". A
	// variable is a whole segment of the path, and the last one may be {proxy+},
	// which takes the rest.
	//
	// Default: none, which is refused.
	Routes []string
}

// maxHTTPTime is when an HTTP API gives up on its integration.
const maxHTTPTime = 30 * time.Second

// AddHTTPAPI puts the function behind an API Gateway HTTP API, with events of
// payload format 2.0. The API is throttled, and logs each request: when, from
// which address, for which route, with which status, and the request id that is
// in the function's log. Paths, headers and bodies are not in it.
//
// It panics with a [*PropsError] for a function that may run longer than such
// an API waits.
func (f *IdempotentFunction) AddHTTPAPI(id string, props *HTTPAPIProps) awsapigatewayv2.HttpApi {
	p := props.withDefaults(f)
	append(p.refuse(f), refuseID(f.scope, id, "")...).panic(f.scope, id)
	api := awsapigatewayv2.NewHttpApi(f.scope, &id, &awsapigatewayv2.HttpApiProps{DefaultAuthorizer: p.Authorizer})
	p.watch(api, f.props.Table.props.Ephemeral)
	integration := awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("Integration"), f.Function, nil)
	for _, route := range p.Routes {
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

func (p *HTTPAPIProps) withDefaults(f *IdempotentFunction) HTTPAPIProps {
	if p == nil {
		p = &HTTPAPIProps{}
	}
	filled := *p
	if filled.AccessLogRetention == "" {
		filled.AccessLogRetention = f.props.LogRetention
	}
	if filled.BurstLimit == 0 {
		filled.BurstLimit = 500
	}
	if filled.RateLimit == 0 {
		filled.RateLimit = 1000
	}
	return filled
}

func (p *HTTPAPIProps) refuse(f *IdempotentFunction) problems {
	var found problems
	found.when((p.Authorizer == nil) == !p.Public, "Public: state one of Authorizer and Public, which decides whether callers share their keys")
	found = append(found, refuseLogRetention("AccessLogRetention", p.AccessLogRetention)...)
	found.when(p.BurstLimit < 0, "BurstLimit: %d is negative", p.BurstLimit)
	found.when(p.RateLimit < 0, "RateLimit: %d is negative", p.RateLimit)
	found.when(len(p.Routes) == 0, "Routes: at least one is required")
	found = append(found, refuseRoutes(p.Routes)...)
	found.when(f.props.Timeout > maxHTTPTime,
		"Routes: the API answers 503 after %s, while the function may run for %s; lower its Timeout", maxHTTPTime, f.props.Timeout)
	return found
}
