package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

// accessLog is the format of a line of an access log. It contains the route and
// not the path, because a path may identify a customer. The texts of errors are
// in the log of the function.
const accessLog = `{"requestId":"$context.requestId","requestTime":"$context.requestTime","sourceIp":"$context.identity.sourceIp",` +
	`"routeKey":"$context.routeKey","protocol":"$context.protocol","status":"$context.status","responseLength":"$context.responseLength",` +
	`"responseLatency":"$context.responseLatency","errorType":"$context.error.responseType","authorizerError":"$context.authorizer.error",` +
	`"functionRequestId":"$context.integration.requestId","functionStatus":"$context.integration.integrationStatus",` +
	`"functionLatency":"$context.integration.latency"}`

// watch sets the access log and the limits of the API's default stage. HttpApi
// has no props for them.
func (p *HTTPAPIProps) watch(api awsapigatewayv2.HttpApi, ephemeral bool) {
	logs := awslogs.NewLogGroup(api, jsii.String("AccessLogs"), &awslogs.LogGroupProps{
		RemovalPolicy: removalPolicy(ephemeral), Retention: p.AccessLogRetention,
	})
	stage := api.DefaultStage().Node().DefaultChild().(awsapigatewayv2.CfnStage)
	stage.SetAccessLogSettings(&awsapigatewayv2.CfnStage_AccessLogSettingsProperty{
		DestinationArn: logs.LogGroupArn(), Format: jsii.String(accessLog),
	})
	stage.SetDefaultRouteSettings(&awsapigatewayv2.CfnStage_RouteSettingsProperty{
		ThrottlingBurstLimit: jsii.Number(p.BurstLimit), ThrottlingRateLimit: jsii.Number(p.RateLimit),
	})
}
