package infra

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

// CDK refuses routes in words of its own, which are those of a PropsError.
func TestRoutesThatCDKRefusesAreRefused(t *testing.T) {
	for _, route := range []string{"POST /x/", "POST x", "POST", "post /x"} {
		wantRefusal(t, "Configure, Routes: ", func() { api(t, route) })
	}
	wantRefusal(t, "There is already a Construct", func() { api(t, "POST /x", "PUT /x", "POST /x") })
	wantRefusal(t, "", func() { api(t, "ANY /", "GET /payments/{id}", "PUT /payments/{id}", "ANY /files/{proxy+}", "$default") })
}

// The integration of CDK's belongs to the first route that has it.
func TestARouteStaysWhenOneIsAddedBeforeIt(t *testing.T) {
	route := func(routes ...string) (id string, resource template.Resource) {
		stack := newStack()
		newFunction(t, stack, nil).AddHTTPAPI("API", &HTTPAPIProps{Public: true, Routes: routes})
		for id, r := range synth(t, stack).Resources("AWS::ApiGatewayV2::Route") {
			if r.Properties()["RouteKey"] == "POST /payments" {
				return id, r
			}
		}
		return "", nil
	}
	id, before := route("POST /payments")
	same, after := route("GET /payments", "POST /payments")
	check.Equal(t, same, id)
	check.Equal(t, after, before)
}

// CDK panics for two authorizers with one id.
func TestCollidingAuthorizersAreRefused(t *testing.T) {
	stack := newStack()
	f, shared := newFunction(t, stack, nil), awsapigatewayv2.NewHttpApi(stack, jsii.String("Shared"), nil)
	f.AddRoutes("A", shared, &RoutesProps{Authorizer: newAuthorizer(), Routes: []string{"POST /a"}})
	wantRefusal(t, "Routes: There is already a Construct with name 'JWT'", func() {
		f.AddRoutes("B", shared, &RoutesProps{Authorizer: newAuthorizer(), Routes: []string{"POST /b"}})
	})
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
