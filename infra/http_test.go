package infra

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/template"
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
		"the API returns 503 after 30s":          {31 * time.Second, &HTTPAPIProps{Public: true, Routes: []string{"POST /"}}},
		"":                                       {30 * time.Second, &HTTPAPIProps{Public: true, Routes: []string{"ANY /{proxy+}"}}},
	} {
		t.Run(words, func(t *testing.T) {
			f := newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Timeout = c.timeout })
			wantRefusal(t, words, func() { f.AddHTTPAPI("API", c.props) })
		})
	}
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
			api := f.AddHTTPAPI("API", &c.props)
			if api.Url() == nil {
				t.Error("the API has no URL")
			}
			deployed := synth(t, stack)
			for _, problem := range deployed.Problems(template.Logged, template.Actions{}) {
				t.Error(problem)
			}
			stage := only(t, deployed, "AWS::ApiGatewayV2::Stage").Properties()
			want := map[string]any{"ThrottlingBurstLimit": c.burst, "ThrottlingRateLimit": c.rate}
			if !reflect.DeepEqual(stage["DefaultRouteSettings"], want) || stage["StageName"] != "$default" || stage["AutoDeploy"] != true {
				t.Errorf("the stage is %v", stage)
			}
			logs := deployed.Resources()["FunctionAPIAccessLogs"]
			if logs.Properties()["RetentionInDays"] != c.retention || logs["DeletionPolicy"] != c.fate {
				t.Errorf("the access log is %v", logs)
			}
			var line map[string]string
			format := stage["AccessLogSettings"].(map[string]any)["Format"].(string)
			if err := json.Unmarshal([]byte(format), &line); err != nil || line["functionRequestId"] == "" {
				t.Errorf("a line of the access log is %s, %v", format, err)
			}
		})
	}
}

func TestHTTPAPIRefusesLimitsThatCannotWork(t *testing.T) {
	for words, props := range map[string]HTTPAPIProps{
		"BurstLimit: -1 is negative":             {BurstLimit: -1},
		"RateLimit: -1 is negative":              {RateLimit: -1},
		`AccessLogRetention: "FORTNIGHT" is non`: {AccessLogRetention: "FORTNIGHT"},
	} {
		props.Public, props.Routes = true, []string{"POST /"}
		wantRefusal(t, words, func() { newFunction(t, newStack(), nil).AddHTTPAPI("API", &props) })
	}
}
