package infra

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

func TestHTTPAPI(t *testing.T) {
	stack := newStack()
	newFunction(t, stack, nil).AddHTTPAPI("API", &HTTPAPIProps{
		Authorizer: newAuthorizer(),
		Routes:     []string{"POST /payments"},
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
		"state one of Authorizer and Public":     {Routes: post},
		"at least one is required":               {Public: true},
		`"/payments" is not a method and a path`: {Public: true, Routes: []string{"/payments"}},
		"BurstLimit: -1 is negative":             {Public: true, Routes: post, BurstLimit: -1},
		"RateLimit: -1 is negative":              {Public: true, Routes: post, RateLimit: -1},
		`AccessLogRetention: "FORTNIGHT" is non`: {Public: true, Routes: post, AccessLogRetention: "FORTNIGHT"},
	}, func(props HTTPAPIProps) { newFunction(t, newStack(), nil).AddHTTPAPI("API", &props) })
	wantRefusals(t, map[string]time.Duration{"": 30 * time.Second, "an HTTP API returns an error after 30s": 31 * time.Second}, func(timeout time.Duration) {
		newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Timeout = timeout }).AddHTTPAPI("API", &HTTPAPIProps{Public: true, Routes: post})
	})
}

func TestHTTPAPIIsLoggedAndThrottled(t *testing.T) {
	for name, c := range map[string]struct {
		props       HTTPAPIProps
		retention   float64
		rate, burst float64
		ephemeral   bool
		fate        string
	}{
		"by default": {HTTPAPIProps{}, 7, 1000, 500, false, "Retain"},
		"as stated":  {HTTPAPIProps{AccessLogRetention: awslogs.RetentionDays_ONE_YEAR, BurstLimit: 20, RateLimit: 10}, 365, 10, 20, true, "Delete"},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			f := newFunction(t, stack, func(p *IdempotentFunctionProps) {
				p.LogRetention = awslogs.RetentionDays_ONE_WEEK
				p.Table = NewIdempotencyTable(stack, "Records", &IdempotencyTableProps{Ephemeral: c.ephemeral})
			})
			c.props.Public, c.props.Routes = true, []string{"POST /payments"}
			check.Equal(t, f.AddHTTPAPI("API", &c.props).Url() == nil, false)
			deployed := synth(t, stack)
			obeys(t, deployed, template.Logged)
			stage := only(t, deployed, "AWS::ApiGatewayV2::Stage").Properties()
			check.Equal(t, stage["DefaultRouteSettings"], map[string]any{"ThrottlingBurstLimit": c.burst, "ThrottlingRateLimit": c.rate})
			check.Equal(t, stage["StageName"], "$default")
			check.Equal(t, stage["AutoDeploy"], true)
			logs := deployed.Resources()["FunctionAPIAccessLogs"]
			check.Equal(t, logs.Properties()["RetentionInDays"], c.retention)
			check.Equal(t, logs["DeletionPolicy"], c.fate)
			var line map[string]string
			format := stage["AccessLogSettings"].(map[string]any)["Format"].(string)
			check.Equal(t, json.Unmarshal([]byte(format), &line), nil, format)
			check.Contains(t, line["functionRequestId"], "requestId")
		})
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
		"set Authorizer in place of DefaultAuth": func(p *awsapigatewayv2.HttpApiProps) { p.DefaultAuthorizer = newAuthorizer() },
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
