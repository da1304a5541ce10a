package infra

import (
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awselasticloadbalancingv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// ListenerRuleProps are the props of [IdempotentFunction.AddListenerRule]. Conditions and
// Priority are required.
type ListenerRuleProps struct {
	// Authenticate returns an action that authenticates callers and continues with next, such as
	// ListenerAction_AuthenticateOidc. The identity arrives in a header, whose signature the
	// function must verify. Default: none, which is refused without Public.
	Authenticate func(next awselasticloadbalancingv2.ListenerAction) awselasticloadbalancingv2.ListenerAction

	// Conditions select the requests, such as ListenerCondition_PathPatterns.
	Conditions []awselasticloadbalancingv2.ListenerCondition

	// IdleTimeout is that of the load balancer, 1 s to 4,000 s. A listener hides it, so state it
	// if you have changed it. Default: 60 s, that of AWS.
	IdleTimeout time.Duration

	// Priority orders the rules of the listener: 1 to 50,000, different for each.
	Priority int

	// Public lets everybody call who reaches the load balancer; see [RoutesProps]. It excludes
	// Authenticate. Default: false.
	Public bool
}

// AddListenerRule puts the function behind a listener of an Application Load Balancer, made
// or imported, which several functions may share. It returns the target group. Its events
// have multi-value headers, which show that a request has two keys.
//
// AddListenerRule panics with a [*PropsError] if the function's timeout, or that of its
// executions, is longer than IdleTimeout, and if a rule of this app has the priority.
func (f *IdempotentFunction) AddListenerRule(id string, listener awselasticloadbalancingv2.IApplicationListener, props *ListenerRuleProps) awselasticloadbalancingv2.ApplicationTargetGroup {
	p := filled(props, ListenerRuleProps{IdleTimeout: time.Minute})
	append(p.refuse(f, listener), refuseID(f.scope, id, "")...).panic(f.scope, id)
	own := constructs.NewConstruct(f.scope, &id)
	group := f.newTargetGroup(own)
	action := awselasticloadbalancingv2.ListenerAction_Forward(&[]awselasticloadbalancingv2.IApplicationTargetGroup{group}, nil)
	if p.Authenticate != nil {
		action = p.Authenticate(action)
	}
	awselasticloadbalancingv2.NewApplicationListenerRule(own, jsii.String("Rule"), &awselasticloadbalancingv2.ApplicationListenerRuleProps{
		Action: action, Conditions: &p.Conditions, Listener: listener, Priority: jsii.Number(p.Priority),
	})
	options := metricOptions("Sum")
	f.watchServerErrors("behind the load balancer, the function", group.Metrics().HttpCodeTarget(awselasticloadbalancingv2.HttpCodeTarget_TARGET_5XX_COUNT, options))
	f.watchServerErrors("the load balancer", group.Metrics().Custom(jsii.String("LambdaUserError"), options)) // no response
	return group
}

// newTargetGroup creates a target group of the function. CDK's own target lets the load
// balancers of every account invoke the function.
func (f *IdempotentFunction) newTargetGroup(own constructs.Construct) awselasticloadbalancingv2.ApplicationTargetGroup {
	group := awselasticloadbalancingv2.NewApplicationTargetGroup(own, jsii.String("Targets"), &awselasticloadbalancingv2.ApplicationTargetGroupProps{
		MultiValueHeadersEnabled: jsii.Bool(true), TargetType: awselasticloadbalancingv2.TargetType_LAMBDA,
	})
	permission := constructs.NewConstruct(own, jsii.String("Permission"))
	f.target().AddPermission(jsii.String("Invoke"), &awslambda.Permission{
		Principal: awsiam.NewServicePrincipal(jsii.String("elasticloadbalancing.amazonaws.com"), nil), Scope: permission, SourceAccount: awscdk.Stack_Of(own).Account(),
	})
	resource := group.Node().DefaultChild().(awselasticloadbalancingv2.CfnTargetGroup)
	resource.AddPropertyOverride(jsii.String("Targets"), []map[string]*string{{"Id": f.target().FunctionArn()}})
	resource.Node().AddDependency(permission) // a target is registered only if it may be invoked
	return group
}

func (p *ListenerRuleProps) refuse(f *IdempotentFunction, listener awselasticloadbalancingv2.IApplicationListener) problems {
	found := f.refuseSlow("the load balancer", p.IdleTimeout)
	found.when((p.Authenticate == nil) == !p.Public, "Public: state one of Authenticate and Public, which decides whether callers share their keys")
	found.when(len(p.Conditions) == 0 || slices.Contains(p.Conditions, nil), "Conditions: at least one is required, and none is nil")
	found.when(!wholeSeconds(p.IdleTimeout, time.Second, 4000*time.Second), "IdleTimeout: %s is not whole seconds, 1 s to 4,000 s", p.IdleTimeout)
	found.when(p.Priority < 1 || p.Priority > 50000, "Priority: %d is not 1 to 50,000", p.Priority)
	if listener == nil {
		return append(found, "listener: it is required")
	}
	for _, rule := range inApp[awselasticloadbalancingv2.CfnListenerRule](listener) {
		found.when(rule.ListenerArn() != nil && *rule.ListenerArn() == *listener.ListenerArn() && *rule.Priority() == float64(p.Priority),
			"Priority: %d is that of %s, on the same listener", p.Priority, *rule.Node().Path())
	}
	return found
}
