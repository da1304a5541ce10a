package infra

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

func TestRoutesThatMatchNothingAreRefused(t *testing.T) {
	for _, path := range []string{
		"/x y", "/x ", "/ x", " /x", "/x\ty", "x", "", "//", "/x//y", "/x/", "/x?y=1", "/x#y", "/ä", "/x{id}", "/{id}.json", "/{id", "/id}",
		"/{}", "/{+}", "/{proxy+}/x", "/{a b}", "/x\n", `/x\y`,
	} {
		wantRefusal(t, "is not a method and a path", func() { api(t, "POST "+path) })
	}
	for _, method := range []string{"post", "CONNECT", "*", "POST,PUT", ""} {
		wantRefusal(t, "is not a method and a path", func() { api(t, method+" /x") })
	}
}

func TestRoutes(t *testing.T) {
	wantRefusal(t, "", func() {
		api(t, "ANY /", "GET /payments/{id}", "PUT /payments/{id}", "POST /v1.0/a-b_c~d/@x:y", "ANY /files/{proxy+}", "POST /{a}/{b.c}/d", "$default",
			"GET /{x}/{y}", "GET /{x}/{y}/{proxy+}", "GET /{rest+}")
	})
}

// CDK takes the second for the first, and panics in words of its own.
func TestRouteThatIsThereTwiceIsRefused(t *testing.T) {
	wantRefusal(t, `"POST /x" is listed twice`, func() { api(t, "POST /x", "PUT /x", "POST /x") })
	wantRefusal(t, `"POST /a--b" is listed twice`, func() { api(t, "POST /a/b", "POST /a--b") })
}

func api(t *testing.T, routes ...string) {
	t.Helper()
	newFunction(t, newStack(), nil).AddHTTPAPI("API", &HTTPAPIProps{Public: true, Routes: routes})
}

// API Gateway refuses the second with a ConflictException.
func TestVariablesWithTwoNamesAreRefused(t *testing.T) {
	wantRefusal(t, `"GET /a/{name}" has {name} where an earlier route has {id}`, func() { api(t, "GET /a/{id}", "GET /a/{name}") })
	wantRefusal(t, `has {name} where`, func() { api(t, "GET /a/{id}", "GET /a/{name}/b") })
	wantRefusal(t, `has {rest+} where`, func() { api(t, "ANY /{proxy+}", "ANY /{rest+}") })
}

func TestRoutesOfASharedAPI(t *testing.T) {
	stack := newStack()
	shared := awsapigatewayv2.NewHttpApi(stack, jsii.String("Shared"), &awsapigatewayv2.HttpApiProps{DefaultAuthorizer: newAuthorizer()})
	payments := newFunction(t, stack, nil)
	payments.AddRoutes("Payments", shared, &RoutesProps{Routes: []string{"POST /payments", "GET /payments/{id}"}})
	payments.AddRoutes("Health", shared, &RoutesProps{Public: true, Routes: []string{"GET /health"}})
	deployed := synth(t, stack)
	authorization := map[string]any{}
	for _, id := range deployed.IDs("AWS::ApiGatewayV2::Route") {
		route := deployed.Resources()[id].Properties()
		authorization[route["RouteKey"].(string)] = route["AuthorizationType"]
		check.Equal(t, route["ApiId"], ref(deployed.IDs("AWS::ApiGatewayV2::Api")[0]))
	}
	check.Equal(t, authorization, map[string]any{"POST /payments": "JWT", "GET /payments/{id}": "JWT", "GET /health": "NONE"})
	check.Equal(t, len(deployed.IDs("AWS::Lambda::Permission")), 3)

	wantRefusals(t, map[string][]string{
		`"POST /payments" is listed twice, or the API already has it`: {"POST /payments"},
		`"GET /payments/{name}" has {name} where an earlier route`:    {"GET /payments/{name}"},
		"": {"DELETE /payments/{name}"},
	}, func(routes []string) { payments.AddRoutes("More"+routes[0], shared, &RoutesProps{Routes: routes}) })
}

func TestRoutesOfAnImportedAPI(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, nil)
	imported := awsapigatewayv2.HttpApi_FromHttpApiAttributes(stack, jsii.String("API"), &awsapigatewayv2.HttpApiAttributes{HttpApiId: jsii.String("a1b2c3")})
	wantRefusal(t, "api: it is required", func() { f.AddRoutes("None", nil, nil) })
	wantRefusal(t, "state one of Authorizer and Public", func() { f.AddRoutes("R", imported, &RoutesProps{Routes: []string{"POST /"}}) })
	wantRefusal(t, "state one of Authorizer and Public", func() {
		f.AddRoutes("R", imported, &RoutesProps{Authorizer: newAuthorizer(), Public: true, Routes: []string{"POST /"}})
	})
	f.AddRoutes("Routes", imported, &RoutesProps{Authorizer: newAuthorizer(), Routes: []string{"POST /payments"}})
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}})
	deployed := synth(t, stack)
	check.Equal(t, only(t, deployed, "AWS::ApiGatewayV2::Route").Properties()["ApiId"], "a1b2c3")
	check.Equal(t, only(t, deployed, "AWS::ApiGatewayV2::Authorizer").Properties()["ApiId"], "a1b2c3")
	check.Equal(t, deployed.Resources()["AlarmsFunctionServerErrors"] == nil, false)
}

func TestPreflightRequestsDoNotReachAnAuthorizer(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, nil)
	shared := awsapigatewayv2.NewHttpApi(stack, jsii.String("Shared"), &awsapigatewayv2.HttpApiProps{CorsPreflight: browsers("Idempotency-Key")})
	authorizer := newAuthorizer()
	add := func(id string, routes ...string) {
		f.AddRoutes(id, shared, &RoutesProps{Authorizer: authorizer, Routes: routes})
	}
	for _, route := range []string{"ANY /", "OPTIONS /x", "$default"} {
		wantRefusal(t, "sends the preflight requests of browsers to the Authorizer", func() { add("Refused", route) })
	}
	wantRefusal(t, "", func() { add("Post", "POST /payments") })
	wantRefusal(t, "", func() {
		f.AddRoutes("Options", shared, &RoutesProps{Public: true, Routes: []string{"OPTIONS /{proxy+}"}})
	})
	wantRefusal(t, "", func() { add("Default", "$default") })
	wantRefusal(t, "sends the preflight requests", func() { add("Any", "ANY /y") }) // which goes before {proxy+}
}

func TestHeadersThatBrowsersNeedAreRefusedIfHidden(t *testing.T) {
	some := func(change func(*awsapigatewayv2.CorsPreflightOptions)) *awsapigatewayv2.CorsPreflightOptions {
		cors := browsers("Idempotency-Key")
		change(cors)
		return cors
	}
	every := jsii.Strings("*")
	wantRefusals(t, map[string]*awsapigatewayv2.CorsPreflightOptions{
		"CORS: add Idempotency-Key to the allowed headers":    some(func(c *awsapigatewayv2.CorsPreflightOptions) { c.AllowHeaders = nil }),
		"CORS: add Idempotent-Replayed to the exposed header": some(func(c *awsapigatewayv2.CorsPreflightOptions) { c.ExposeHeaders = jsii.Strings("Retry-After") }),
		"CORS: add Retry-After to the exposed headers":        some(func(c *awsapigatewayv2.CorsPreflightOptions) { c.ExposeHeaders = jsii.Strings("Idempotent-Replayed") }),
		"CORS: add Idempotency-Key": some(func(c *awsapigatewayv2.CorsPreflightOptions) {
			c.AllowHeaders, c.AllowCredentials = every, jsii.Bool(true) // the name of a header then
		}),
		"": some(func(c *awsapigatewayv2.CorsPreflightOptions) { c.AllowHeaders, c.ExposeHeaders = every, every }),
	}, func(cors *awsapigatewayv2.CorsPreflightOptions) {
		stack := newStack()
		shared := awsapigatewayv2.NewHttpApi(stack, jsii.String("Shared"), &awsapigatewayv2.HttpApiProps{CorsPreflight: cors})
		newFunction(t, stack, nil).AddRoutes("Routes", shared, &RoutesProps{Public: true, Routes: []string{"POST /"}})
	})
	wantRefusal(t, "", func() {
		stack := newStack()
		name := awscdk.NewCfnParameter(stack, jsii.String("Header"), nil).ValueAsString()
		shared := awsapigatewayv2.NewHttpApi(stack, jsii.String("Shared"), &awsapigatewayv2.HttpApiProps{CorsPreflight: browsers(*name)})
		newFunction(t, stack, nil).AddRoutes("Routes", shared, &RoutesProps{Public: true, Routes: []string{"POST /"}})
	})
}
