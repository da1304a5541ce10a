package infra_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awselasticloadbalancingv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awselasticloadbalancingv2targets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/fake"
)

// The code of HTTP in docs/deploy.md.

func httpAPI(stack awscdk.Stack, payments *infra.IdempotentFunction, certificate awscertificatemanager.ICertificate) awsapigatewayv2.HttpApi {
	callers := awsapigatewayv2authorizers.NewHttpJwtAuthorizer(jsii.String("Callers"), jsii.String("https://id.example.com"),
		&awsapigatewayv2authorizers.HttpJwtAuthorizerProps{JwtAudience: jsii.Strings("shop")})
	domain := awsapigatewayv2.NewDomainName(stack, jsii.String("Domain"), &awsapigatewayv2.DomainNameProps{
		Certificate: certificate, DomainName: jsii.String("api.example.com"),
	})
	api := payments.AddHTTPAPI("API", &infra.HTTPAPIProps{
		Configure: func(p *awsapigatewayv2.HttpApiProps) {
			p.DefaultAuthorizer = callers
			p.CorsPreflight = &awsapigatewayv2.CorsPreflightOptions{
				AllowHeaders:  jsii.Strings("Authorization", "Content-Type", "Idempotency-Key"),
				AllowMethods:  &[]awsapigatewayv2.CorsHttpMethod{awsapigatewayv2.CorsHttpMethod_POST},
				AllowOrigins:  jsii.Strings("https://shop.example.com"),
				ExposeHeaders: jsii.Strings("Idempotent-Replayed", "Retry-After"),
			}
			p.DefaultDomainMapping = &awsapigatewayv2.DomainMappingOptions{DomainName: domain}
			p.DisableExecuteApiEndpoint = jsii.Bool(true)
		},
		Routes: []string{"POST /payments"},
	})
	return api
}

func sharedAPI(stack awscdk.Stack, api awsapigatewayv2.IHttpApi, callers awsapigatewayv2.IHttpRouteAuthorizer, refunds *infra.IdempotentFunction) {
	awsapigatewayv2.NewHttpRoute(stack, jsii.String("Refund"), &awsapigatewayv2.HttpRouteProps{
		Authorizer:  callers, // an import hides its DefaultAuthorizer
		HttpApi:     api,
		Integration: awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("Refunds"), refunds.Function, nil),
		RouteKey:    awsapigatewayv2.HttpRouteKey_With(jsii.String("/payments/{id}/refunds"), awsapigatewayv2.HttpMethod_POST),
	})
}

func restAPI(stack awscdk.Stack, payments *infra.IdempotentFunction) {
	api := awsapigateway.NewRestApi(stack, jsii.String("REST"), &awsapigateway.RestApiProps{
		DefaultCorsPreflightOptions: &awsapigateway.CorsOptions{
			AllowHeaders: jsii.Strings("Authorization", "Content-Type", "Idempotency-Key"),
			AllowOrigins: jsii.Strings("https://shop.example.com"),
		},
		EndpointTypes: &[]awsapigateway.EndpointType{awsapigateway.EndpointType_REGIONAL},
	})
	call := awsapigateway.NewLambdaIntegration(payments.Function, &awsapigateway.LambdaIntegrationOptions{
		Timeout: awscdk.Duration_Minutes(jsii.Number(2)), // the raised quota of the account
	})
	key := &awsapigateway.MethodOptions{ApiKeyRequired: jsii.Bool(true)}
	api.Root().ResourceForPath(jsii.String("payments")).AddMethod(jsii.String("POST"), call, key)
	api.Root().ResourceForPath(jsii.String("payments/{id}")).AddMethod(jsii.String("GET"), call, key)
}

func loadBalancer(stack awscdk.Stack, listener awselasticloadbalancingv2.IApplicationListener, payments *infra.IdempotentFunction) {
	group := awselasticloadbalancingv2.NewApplicationTargetGroup(stack, jsii.String("Targets"), &awselasticloadbalancingv2.ApplicationTargetGroupProps{
		MultiValueHeadersEnabled: jsii.Bool(true), // they show that a request has two keys
		Targets:                  &[]awselasticloadbalancingv2.IApplicationLoadBalancerTarget{awselasticloadbalancingv2targets.NewLambdaTarget(payments.Function)},
		TargetType:               awselasticloadbalancingv2.TargetType_LAMBDA,
	})
	awselasticloadbalancingv2.NewApplicationListenerRule(stack, jsii.String("Rule"), &awselasticloadbalancingv2.ApplicationListenerRuleProps{
		Conditions: &[]awselasticloadbalancingv2.ListenerCondition{
			awselasticloadbalancingv2.ListenerCondition_PathPatterns(jsii.Strings("/payments", "/payments/*")),
		},
		Listener:     listener,
		Priority:     jsii.Number(10),
		TargetGroups: &[]awselasticloadbalancingv2.IApplicationTargetGroup{group},
	})
}

func functionURL(payments *infra.IdempotentFunction, partner awsiam.IRole) {
	url := payments.Function.AddFunctionUrl(&awslambda.FunctionUrlOptions{AuthType: awslambda.FunctionUrlAuthType_AWS_IAM})
	url.GrantInvokeUrl(partner)
}

func TestDeployHTTPPage(t *testing.T) {
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false), Outdir: jsii.String(t.TempDir())})
	stack := awscdk.NewStack(app, jsii.String("Shop"), nil)
	code := filepath.Join(t.TempDir(), "bootstrap.zip")
	check.Must(t, fake.WriteFunction(code))
	table := infra.NewIdempotencyTable(stack, "Records", nil)
	function := func(id string, timeout time.Duration) *infra.IdempotentFunction {
		return infra.NewIdempotentFunction(stack, id, &infra.IdempotentFunctionProps{Code: code, Table: table, Timeout: timeout})
	}
	certificate := awscertificatemanager.Certificate_FromCertificateArn(stack, jsii.String("Certificate"), jsii.String("arn:aws:acm:eu-west-1:111122223333:certificate/a"))
	httpAPI(stack, function("Payments", 30*time.Second), certificate)

	shared := awsapigatewayv2.HttpApi_FromHttpApiAttributes(stack, jsii.String("Shared"), &awsapigatewayv2.HttpApiAttributes{HttpApiId: jsii.String("a1b2c3")})
	callers := awsapigatewayv2authorizers.NewHttpIamAuthorizer()
	sharedAPI(stack, shared, callers, function("Refunds", 0))

	slow := function("SlowPayments", 2*time.Minute)
	restAPI(stack, slow)
	loadBalancer(stack, awselasticloadbalancingv2.ApplicationListener_FromApplicationListenerAttributes(stack, jsii.String("Listener"),
		&awselasticloadbalancingv2.ApplicationListenerAttributes{
			ListenerArn:   jsii.String("arn:aws:elasticloadbalancing:eu-west-1:111122223333:listener/app/shop/a1/b2"),
			SecurityGroup: awsec2.SecurityGroup_FromSecurityGroupId(stack, jsii.String("Group"), jsii.String("sg-1"), nil),
		}), slow)
	functionURL(slow, awsiam.NewRole(stack, jsii.String("Partner"), &awsiam.RoleProps{AssumedBy: awsiam.NewAccountRootPrincipal()}))
	app.Synth(nil)
}
