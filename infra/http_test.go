package infra

import (
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/jsii-runtime-go"
)

func TestHTTPAPI(t *testing.T) {
	stack := newStack()
	newFunction(t, stack, nil).AddHTTPAPI("API", &HTTPAPIProps{
		Authorizer: awsapigatewayv2authorizers.NewHttpJwtAuthorizer(jsii.String("JWT"), jsii.String("https://issuer.example.com"),
			&awsapigatewayv2authorizers.HttpJwtAuthorizerProps{JwtAudience: jsii.Strings("payments")}),
		Routes: []string{"POST /payments"},
	})
	deployed := synth(t, stack)
	route := only(t, deployed, "AWS::ApiGatewayV2::Route").Properties()
	if route["RouteKey"] != "POST /payments" || route["AuthorizationType"] != "JWT" {
		t.Errorf("got %v", route)
	}
	if i := only(t, deployed, "AWS::ApiGatewayV2::Integration").Properties(); i["PayloadFormatVersion"] != "2.0" {
		t.Errorf("got %v", i)
	}
}

func TestHTTPAPIRefuses(t *testing.T) {
	for words, c := range map[string]struct {
		timeout time.Duration
		props   *HTTPAPIProps
	}{
		"state one of Authorizer and Public":     {0, &HTTPAPIProps{Routes: []string{"POST /"}}},
		"at least one is required":               {0, &HTTPAPIProps{Public: true}},
		`"/payments" is not a method and a path`: {0, &HTTPAPIProps{Public: true, Routes: []string{"/payments"}}},
		`"post /" is not a method and a path`:    {0, &HTTPAPIProps{Public: true, Routes: []string{"post /"}}},
		"the API answers 503 after 30s":          {31 * time.Second, &HTTPAPIProps{Public: true, Routes: []string{"POST /"}}},
		"":                                       {30 * time.Second, &HTTPAPIProps{Public: true, Routes: []string{"ANY /{proxy+}"}}},
	} {
		t.Run(words, func(t *testing.T) {
			f := newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Timeout = c.timeout })
			wantRefusal(t, words, func() { f.AddHTTPAPI("API", c.props) })
		})
	}
}
