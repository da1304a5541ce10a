package infra

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

func TestHTTPAPI(t *testing.T) {
	stack := newStack()
	newFunction(t, stack, nil).AddHTTPAPI("API", &HTTPAPIProps{
		Configure: func(p *awsapigatewayv2.HttpApiProps) { p.DefaultAuthorizer = newAuthorizer() },
		Routes:    []string{"POST /payments"},
	})
	deployed := synth(t, stack)
	route := only(t, deployed, "AWS::ApiGatewayV2::Route").Properties()
	check.Equal(t, route["RouteKey"], "POST /payments")
	check.Equal(t, route["AuthorizationType"], "JWT")
	check.Equal(t, only(t, deployed, "AWS::ApiGatewayV2::Integration").Properties()["PayloadFormatVersion"], "2.0")
}

func TestHTTPAPIRefuses(t *testing.T) {
	post := []string{"POST /"}
	wantRefusals(t, map[string]HTTPAPIProps{
		"state it or a DefaultAuthorizer": {Routes: post},
		"at least one is required":        {Public: true},
		"Configure, Routes: ":             {Public: true, Routes: []string{"/payments"}},
	}, func(props HTTPAPIProps) { newFunction(t, newStack(), nil).AddHTTPAPI("API", &props) })
}

// The log has neither paths, headers nor bodies, which may identify a customer.
func TestHTTPAPIIsLoggedAndThrottled(t *testing.T) {
	for ephemeral, fate := range map[bool]string{false: "Retain", true: "Delete"} {
		stack := newStack()
		f := newFunction(t, stack, func(p *IdempotentFunctionProps) {
			p.Table = NewIdempotencyTable(stack, "Records", &IdempotencyTableProps{Ephemeral: ephemeral})
		})
		check.Equal(t, f.AddHTTPAPI("API", &HTTPAPIProps{Public: true, Routes: []string{"POST /payments"}}).Url() == nil, false)
		deployed := synth(t, stack)
		stage := only(t, deployed, "AWS::ApiGatewayV2::Stage").Properties()
		check.Equal(t, stage["DefaultRouteSettings"], map[string]any{"ThrottlingBurstLimit": 500.0, "ThrottlingRateLimit": 1000.0})
		check.Equal(t, stage["StageName"], "$default")
		check.Equal(t, stage["AutoDeploy"], true)
		logs := deployed.Resources()["FunctionAPIAccessLogs"]
		check.Equal(t, logs.Properties()["RetentionInDays"], 30.0)
		check.Equal(t, logs["DeletionPolicy"], fate)
		settings := stage["AccessLogSettings"].(map[string]any)
		check.Equal(t, settings["DestinationArn"], any(arn("FunctionAPIAccessLogs")))
		var line map[string]string
		check.Must(t, json.Unmarshal([]byte(settings["Format"].(string)), &line))
		check.Contains(t, line["functionRequestId"], "requestId")
		check.Equal(t, strings.Contains(settings["Format"].(string), "$context.path"), false)
	}
}

func TestHTTPAPIIsConfigured(t *testing.T) {
	stack := newStack()
	domain := awsapigatewayv2.NewDomainName(stack, jsii.String("Domain"), &awsapigatewayv2.DomainNameProps{
		Certificate: awscertificatemanager.Certificate_FromCertificateArn(stack, jsii.String("Certificate"), jsii.String("arn:aws:acm:eu-west-1:111122223333:certificate/a")),
		DomainName:  jsii.String("api.example.com"),
	})
	newFunction(t, stack, nil).AddHTTPAPI("API", &HTTPAPIProps{
		Configure: func(p *awsapigatewayv2.HttpApiProps) {
			p.CorsPreflight = browsers("idempotency-key")
			p.DefaultDomainMapping = &awsapigatewayv2.DomainMappingOptions{DomainName: domain}
		},
		Public: true, Routes: []string{"$default"},
	})
	deployed := synth(t, stack)
	check.Equal(t, only(t, deployed, "AWS::ApiGatewayV2::ApiMapping").Properties()["Stage"], "$default")
	cors := only(t, deployed, "AWS::ApiGatewayV2::Api").Properties()["CorsConfiguration"].(map[string]any)
	check.Equal(t, cors["AllowHeaders"], []any{"idempotency-key"})
	check.Equal(t, only(t, deployed, "AWS::ApiGatewayV2::Route").Properties()["RouteKey"], "$default")
}

func TestHTTPAPIRefusesAConfigurationThatContradictsIt(t *testing.T) {
	wantRefusals(t, map[string]func(*awsapigatewayv2.HttpApiProps){
		"Configure: CreateDefaultStage is false": func(p *awsapigatewayv2.HttpApiProps) { p.CreateDefaultStage = jsii.Bool(false) },
	}, func(configure func(*awsapigatewayv2.HttpApiProps)) {
		newFunction(t, newStack(), nil).AddHTTPAPI("API", &HTTPAPIProps{Configure: configure, Public: true, Routes: []string{"POST /"}})
	})
}

// browsers returns a CORS that lets browsers send these headers, and read those of Once.
func browsers(headers ...string) *awsapigatewayv2.CorsPreflightOptions {
	return &awsapigatewayv2.CorsPreflightOptions{
		AllowHeaders: jsii.Strings(headers...), AllowOrigins: jsii.Strings("https://shop.example.com"),
		ExposeHeaders: jsii.Strings("Idempotent-Replayed", "Retry-After"), MaxAge: seconds(time.Minute),
	}
}

func newAuthorizer() awsapigatewayv2.IHttpRouteAuthorizer {
	return awsapigatewayv2authorizers.NewHttpJwtAuthorizer(jsii.String("JWT"), jsii.String("https://issuer.example.com"),
		&awsapigatewayv2authorizers.HttpJwtAuthorizerProps{JwtAudience: jsii.Strings("payments")})
}
