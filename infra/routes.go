package infra

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// RoutesProps are the props of [IdempotentFunction.AddRoutes]. Routes is required.
type RoutesProps struct {
	// Authorizer identifies callers. The function derives the scope of its keys from the
	// identity. Default: the DefaultAuthorizer of the API, which an import hides. Without any,
	// Public is required.
	Authorizer awsapigatewayv2.IHttpRouteAuthorizer

	// Public lets anyone call, even if the API has a DefaultAuthorizer. Callers then share
	// their keys, unless the function distinguishes them in a different way. It excludes
	// Authorizer. Default: false.
	Public bool

	// Routes are methods with paths, such as "POST /payments" or "GET /payments/{id}". A
	// variable is a whole segment of the path. The last one may be {proxy+}, which matches the
	// rest of the path. "$default" matches every request that no other route of the API does.
	//
	// With CORS, an Authorizer excludes ANY, OPTIONS, and "$default" unless the API has a
	// Public "OPTIONS /{proxy+}": the preflight requests of browsers, which have no
	// credentials, would reach it. CORS must allow Idempotency-Key, and expose
	// Idempotent-Replayed and Retry-After. The CORS of an imported API is not checked.
	Routes []string
}

// AddRoutes puts the function behind an existing HTTP API, which several functions may share,
// with events of payload format 2.0. The API's throttling, access log and domain are yours.
// The routes belong to the stack of the function.
//
// AddRoutes panics with a [*PropsError] as [IdempotentFunction.AddHTTPAPI] does, and for a
// route that the API already has in this app; an imported API may have it elsewhere.
func (f *IdempotentFunction) AddRoutes(id string, api awsapigatewayv2.IHttpApi, props *RoutesProps) {
	p := orZero(props)
	found := refuseID(f.scope, id, "")
	if found.when(api == nil, "api: it is required"); api != nil {
		found = append(found, p.refuse(f, api.DefaultAuthorizer(), corsOf(api), routesOf(api))...)
	}
	found.panic(f.scope, id)
	f.route(constructs.NewConstruct(f.scope, &id), api, &p)
}

// route adds the checked routes to the API.
func (f *IdempotentFunction) route(own constructs.Construct, api awsapigatewayv2.IHttpApi, p *RoutesProps) {
	authorizer := p.Authorizer
	if p.Public {
		authorizer = awsapigatewayv2.NewHttpNoneAuthorizer()
	}
	integration := awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("Integration"), f.target(), nil)
	for _, route := range p.Routes {
		method, path, _ := strings.Cut(route, " ") // refuseRoutes has checked it
		key := awsapigatewayv2.HttpRouteKey_DEFAULT()
		if route != defaultRoute {
			key = awsapigatewayv2.HttpRouteKey_With(&path, awsapigatewayv2.HttpMethod(method))
		}
		awsapigatewayv2.NewHttpRoute(own, jsii.String(method+path), &awsapigatewayv2.HttpRouteProps{
			Authorizer: authorizer, HttpApi: api, Integration: integration, RouteKey: key,
		})
	}
}

// defaultRoute is the key of the route for all requests without one.
const defaultRoute = "$default"

// routesOf returns the keys of the routes that the app has added to an API.
func routesOf(api awsapigatewayv2.IHttpApi) (keys []string) {
	for _, route := range inApp[awsapigatewayv2.CfnRoute](api) {
		if *route.ApiId() == *api.ApiId() {
			keys = append(keys, *route.RouteKey())
		}
	}
	return keys
}

// corsOf returns the CORS of an API of the app, and nil if it has none or contains tokens.
func corsOf(api awsapigatewayv2.IHttpApi) (cors *awsapigatewayv2.CorsPreflightOptions) {
	made, ok := api.Node().DefaultChild().(awsapigatewayv2.CfnApi)
	if !ok || made.CorsConfiguration() == nil {
		return nil
	}
	set, _ := awscdk.Stack_Of(api).Resolve(made.CorsConfiguration()).(map[string]any) // nil if it is a token
	delete(set, "maxAge")                                                             // in the options, a Duration
	if text, err := json.Marshal(set); err != nil || json.Unmarshal(text, &cors) != nil {
		return nil
	}
	return cors
}

// refuse reports mistakes beside this default authorizer, CORS and the routes of an API.
func (p *RoutesProps) refuse(f *IdempotentFunction, authorizer awsapigatewayv2.IHttpRouteAuthorizer, cors *awsapigatewayv2.CorsPreflightOptions, existing []string) problems {
	found := f.refuseSlow("an HTTP API", maxHTTPTime)
	found.when(p.Authorizer == nil && authorizer == nil && !p.Public || p.Authorizer != nil && p.Public,
		"Public: state one of Authorizer and Public, which decides whether callers share their keys")
	found = append(append(found, refuseRoutes(p.Routes, existing)...), refuseVariables(slices.Concat(existing, p.Routes))...)
	if cors == nil {
		return found
	}
	for _, route := range p.Routes {
		method, _, _ := strings.Cut(route, " ")
		preflight := method == "ANY" || method == "OPTIONS" || route == defaultRoute && !slices.Contains(existing, "OPTIONS /{proxy+}")
		found.when(preflight && !p.Public,
			"Routes: %q sends the preflight requests of browsers to the Authorizer; list the methods, or for $default add a Public \"OPTIONS /{proxy+}\" first", route)
	}
	return append(found, refuseCORS(cors.AllowCredentials, cors.AllowHeaders, cors.ExposeHeaders)...)
}

// routePath matches / or segments, each a text or a variable. Neither CDK nor API Gateway
// accepts a / at the end.
var routePath = regexp.MustCompile(`^/$|^(/(` + segment + `|\{[\w.:-]+\}))*/(` + segment + `|\{[\w.:-]+\+?\})$`)

// segment matches the characters of a path in RFC 3986.
const segment = `[\w.~!$&'()*+,;=:@%-]+`

// refuseRoutes reports mistakes in routes beside the existing ones of an API.
func refuseRoutes(routes, existing []string) (found problems) {
	id := strings.NewReplacer("/", "--").Replace // as CDK distinguishes routes
	found.when(len(routes) == 0, "Routes: at least one is required")
	for i, route := range routes {
		method, path, _ := strings.Cut(route, " ") // a route without a path has no valid one
		known := slices.Contains([]string{"ANY", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}, method)
		found.when(route != defaultRoute && (!known || !routePath.MatchString(path)),
			"Routes: %q is not a method and a path, as in \"POST /payments\" or \"GET /payments/{id}\"", route)
		same := func(earlier string) bool { return id(earlier) == id(route) }
		found.when(slices.ContainsFunc(existing, same) || slices.ContainsFunc(routes[:i], same), "Routes: %q is listed twice, or the API already has it", route)
	}
	return found
}

var variable = regexp.MustCompile(`\{[^}]+\}`)

// refuseVariables reports variables with two names at one level of a path, which API Gateway
// refuses. A variable for the rest of a path may stand beside one for a segment.
func refuseVariables(routes []string) (found problems) {
	names := map[string]string{} // by the route before the variable, and the kind
	for _, route := range routes {
		for _, at := range variable.FindAllStringIndex(route, -1) {
			level, name := route[:at[0]], route[at[0]:at[1]]
			if strings.HasSuffix(name, "+}") {
				level += "+"
			}
			found.when(cmp.Or(names[level], name) != name, "Routes: %q has %s where an earlier route has %s; use one name", route, name, names[level])
			names[level] = cmp.Or(names[level], name)
		}
	}
	return found
}

// refuseCORS reports headers that a browser needs and may not send or read.
func refuseCORS(credentials *bool, allowed, exposed *[]*string) (found problems) {
	found.when(lacks(allowed, credentials, "Idempotency-Key"), keyNotAllowed)
	for _, name := range []string{"Idempotent-Replayed", "Retry-After"} {
		found.when(lacks(exposed, credentials, name), "CORS: add %s to the exposed headers, or no browser can read it", name)
	}
	return found
}

const keyNotAllowed = "CORS: add Idempotency-Key to the allowed headers, or no browser can send it"

// lacks reports whether a list of CORS is without a header. With credentials, * is the name
// of a header.
func lacks(list *[]*string, credentials *bool, name string) bool {
	every := credentials == nil || !*credentials
	return list == nil || !slices.ContainsFunc(*list, func(header *string) bool {
		return *header == "*" && every || strings.EqualFold(*header, name) || *awscdk.Token_IsUnresolved(header)
	})
}
