package infra

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awselasticloadbalancingv2"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

func TestListenerRule(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, nil)
	f.AddListenerRule("Payments", newListener(f), &ListenerRuleProps{
		Authenticate: oidc, Conditions: anyPath(), Priority: 7,
	})
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}})
	deployed := synth(t, stack)
	group := only(t, deployed, "AWS::ElasticLoadBalancingV2::TargetGroup")
	check.Equal(t, group.Properties()["TargetType"], "lambda")
	check.Equal(t, group.Properties()["TargetGroupAttributes"], []any{map[string]any{"Key": "lambda.multi_value_headers.enabled", "Value": "true"}})
	check.Equal(t, group.Properties()["Targets"], []any{map[string]any{"Id": arn("Function")}})
	permission := deployed.IDs("AWS::Lambda::Permission")
	check.Equal(t, group["DependsOn"], any([]any{permission[0]}))
	check.Equal(t, deployed.Resources()[permission[0]].Properties(), map[string]any{
		"Action": "lambda:InvokeFunction", "FunctionName": arn("Function"), "Principal": "elasticloadbalancing.amazonaws.com", "SourceAccount": "111122223333",
	})
	rule := only(t, deployed, "AWS::ElasticLoadBalancingV2::ListenerRule").Properties()
	check.Equal(t, rule["Priority"], 7.0)
	check.Equal(t, len(rule["Actions"].([]any)), 2)
	alarms := deployed.Resources()
	check.Equal(t, alarms["AlarmsFunctionServerErrors"].Properties()["MetricName"], "HTTPCode_Target_5XX_Count")
	check.Equal(t, alarms["AlarmsFunction2ServerErrors"].Properties()["MetricName"], "LambdaUserError")
}

func TestListenerRuleRefuses(t *testing.T) {
	wantRefusals(t, map[string]ListenerRuleProps{
		"":                                      {Conditions: anyPath(), Priority: 1, Public: true},
		"state one of Authenticate and Public":  {Conditions: anyPath(), Priority: 1},
		"Conditions: at least one is required":  {Priority: 1, Public: true},
		"and none is nil":                       {Conditions: append(anyPath(), nil), Priority: 1, Public: true},
		"Priority: 0 is not 1 to 50,000":        {Conditions: anyPath(), Public: true},
		"Priority: 50001 is not 1 to 50,000":    {Conditions: anyPath(), Priority: 50001, Public: true},
		"IdleTimeout: 10.5s is not whole secon": {Conditions: anyPath(), IdleTimeout: 10500 * time.Millisecond, Priority: 1, Public: true},
		"the load balancer returns an error after 9s, while the function may run for 10s": {
			Conditions: anyPath(), IdleTimeout: 9 * time.Second, Priority: 1, Public: true,
		},
	}, func(props ListenerRuleProps) {
		f := newFunction(t, newStack(), nil)
		f.AddListenerRule("Rule", newListener(f), &props)
	})
	wantRefusal(t, "listener: it is required", func() {
		newFunction(t, newStack(), nil).AddListenerRule("Rule", nil, &ListenerRuleProps{Conditions: anyPath(), Priority: 1, Public: true})
	})
}

// Two imports of a listener have one ARN. The second rule would fail the deployment.
func TestPriorityIsThatOfOneRule(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, nil)
	listener := newListener(f)
	again := awselasticloadbalancingv2.ApplicationListener_FromApplicationListenerAttributes(stack, jsii.String("Again"),
		&awselasticloadbalancingv2.ApplicationListenerAttributes{
			ListenerArn:   listener.ListenerArn(),
			SecurityGroup: awsec2.SecurityGroup_FromSecurityGroupId(stack, jsii.String("Group2"), jsii.String("sg-1"), nil),
		})
	f.AddListenerRule("First", listener, &ListenerRuleProps{Conditions: anyPath(), Priority: 1, Public: true})
	for words, priority := range map[string]int{"": 2, "Priority: 1 is that of S/Function/First/Rule": 1} {
		wantRefusal(t, words, func() {
			f.AddListenerRule(fmt.Sprint("Rule", priority), again, &ListenerRuleProps{Conditions: anyPath(), Priority: priority, Public: true})
		})
	}
}

func oidc(next awselasticloadbalancingv2.ListenerAction) awselasticloadbalancingv2.ListenerAction {
	return awselasticloadbalancingv2.ListenerAction_AuthenticateOidc(&awselasticloadbalancingv2.AuthenticateOidcOptions{
		AuthorizationEndpoint: jsii.String("https://id.example.com/a"), ClientId: jsii.String("shop"),
		ClientSecret: awscdk.SecretValue_UnsafePlainText(jsii.String("x")), Issuer: jsii.String("https://id.example.com"),
		Next: next, TokenEndpoint: jsii.String("https://id.example.com/t"), UserInfoEndpoint: jsii.String("https://id.example.com/u"),
	})
}

func anyPath() []awselasticloadbalancingv2.ListenerCondition {
	return []awselasticloadbalancingv2.ListenerCondition{awselasticloadbalancingv2.ListenerCondition_PathPatterns(jsii.Strings("/*"))}
}

// newListener returns the import of a listener.
func newListener(f *IdempotentFunction) awselasticloadbalancingv2.IApplicationListener {
	return awselasticloadbalancingv2.ApplicationListener_FromApplicationListenerAttributes(f.scope, jsii.String("Listener"),
		&awselasticloadbalancingv2.ApplicationListenerAttributes{
			ListenerArn:   jsii.String("arn:aws:elasticloadbalancing:eu-west-1:111122223333:listener/app/shop/a1/b2"),
			SecurityGroup: awsec2.SecurityGroup_FromSecurityGroupId(f.scope, jsii.String("Group"), jsii.String("sg-1"), nil),
		})
}
