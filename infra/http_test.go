package infra

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

// Public lets anyone call in spite of the authorizer.
func TestHTTPAPI(t *testing.T) {
	for public, authorized := range map[bool]string{false: "JWT", true: "NONE"} {
		stack := newStack()
		jwt := awsapigatewayv2authorizers.NewHttpJwtAuthorizer(jsii.String("JWT"), jsii.String("https://issuer.example.com"),
			&awsapigatewayv2authorizers.HttpJwtAuthorizerProps{JwtAudience: jsii.Strings("payments")})
		newFunction(t, stack, nil).AddHTTPAPI("API", &HTTPAPIProps{
			Configure: func(p *awsapigatewayv2.HttpApiProps) {
				p.CorsPreflight = &awsapigatewayv2.CorsPreflightOptions{AllowHeaders: jsii.Strings("idempotency-key")}
				p.DefaultAuthorizer = jwt
			},
			Public: public, Routes: []string{"POST /payments", "$default"},
		})
		deployed := synth(t, stack)
		routes := map[any]any{}
		for _, r := range deployed.Resources("AWS::ApiGatewayV2::Route") {
			routes[r.Properties()["RouteKey"]] = r.Properties()["AuthorizationType"]
		}
		check.Equal(t, routes, map[any]any{"POST /payments": authorized, "$default": authorized})
		for id, r := range deployed.Resources("AWS::ApiGatewayV2::Integration") {
			check.Equal(t, r.Properties()["PayloadFormatVersion"], "2.0", id)
		}
		cors := only(t, deployed, "AWS::ApiGatewayV2::Api").Properties()["CorsConfiguration"]
		check.Equal(t, cors, any(map[string]any{"AllowHeaders": []any{"idempotency-key"}}))
	}
}

// Callers that no authorizer identifies share their keys, so that Public says it.
func TestHTTPAPIRefuses(t *testing.T) {
	post, none := []string{"POST /"}, awsapigatewayv2.NewHttpNoneAuthorizer()
	wantRefusals(t, map[string]HTTPAPIProps{
		"state it or a DefaultAuthorizer": {Routes: post},
		"state it or a DefaultAuthorizer,": {
			Configure: func(p *awsapigatewayv2.HttpApiProps) { p.DefaultAuthorizer = none }, Routes: post,
		},
		"at least one is required": {Public: true},
		"Configure: CreateDefaultStage is false": {
			Configure: func(p *awsapigatewayv2.HttpApiProps) { p.CreateDefaultStage = jsii.Bool(false) }, Public: true, Routes: post,
		},
	}, func(props HTTPAPIProps) { newFunction(t, newStack(), nil).AddHTTPAPI("API", &props) })
}

// The log has neither paths, headers nor bodies, which may identify a customer.
func TestAccessLogIdentifiesNoCustomer(t *testing.T) {
	var line map[string]string
	check.Must(t, json.Unmarshal([]byte(accessLog), &line))
	check.Contains(t, line["functionRequestId"], "requestId")
	check.Equal(t, strings.Contains(accessLog, "$context.path"), false)
}

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

func api(t *testing.T, routes ...string) {
	t.Helper()
	newFunction(t, newStack(), nil).AddHTTPAPI("API", &HTTPAPIProps{Public: true, Routes: routes})
}

// A route of CDK on an API of a second app has an alarm, too.
func TestARouteOfAnImportedAPIHasAnAlarm(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, nil)
	awsapigatewayv2.NewHttpRoute(stack, jsii.String("Payments"), &awsapigatewayv2.HttpRouteProps{
		HttpApi:     awsapigatewayv2.HttpApi_FromHttpApiAttributes(stack, jsii.String("API"), &awsapigatewayv2.HttpApiAttributes{HttpApiId: jsii.String("a1b2c3")}),
		Integration: awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("Call"), f.Function, nil),
		RouteKey:    awsapigatewayv2.HttpRouteKey_DEFAULT(),
	})
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}})
	check.Contains(t, synth(t, stack).Resources()["AlarmsFunctionServerErrors"], "a1b2c3")
}
