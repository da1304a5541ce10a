package infra

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
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

// An authorizer that identifies nobody lets callers share their keys, so that Public says it.
func TestTheNoneAuthorizerCountsAsPublic(t *testing.T) {
	stack := newStack()
	f, none := newFunction(t, stack, nil), awsapigatewayv2.NewHttpNoneAuthorizer()
	open := awsapigatewayv2.NewHttpApi(stack, jsii.String("Open"), &awsapigatewayv2.HttpApiProps{DefaultAuthorizer: none})
	wantRefusal(t, "state one of Authorizer and Public", func() { f.AddRoutes("A", open, &RoutesProps{Authorizer: none, Routes: []string{"POST /a"}}) })
	wantRefusal(t, "state one of Authorizer and Public", func() { f.AddRoutes("B", open, &RoutesProps{Routes: []string{"POST /b"}}) })
	wantRefusal(t, "", func() {
		f.AddRoutes("C", open, &RoutesProps{Authorizer: none, Public: true, Routes: []string{"POST /c"}})
	})
	wantRefusal(t, "", func() {
		f.AddRoutes("D", open, &RoutesProps{Authorizer: awsapigatewayv2authorizers.NewHttpIamAuthorizer(), Routes: []string{"POST /d"}})
	})
}
