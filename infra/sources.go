package infra

import (
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awselasticloadbalancingv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// sourced returns the signals of the function's event sources in the app, whoever made them.
func (f *IdempotentFunction) sourced(a *app) []signal {
	all := append(f.served(a), f.signals...)
	seen := map[string]bool{}
	lose := func(name string, queue *queueOf) {
		if queue != nil && !seen[queue.path] {
			seen[queue.path] = true
			all = append(all, ofSource(catalog.Function[name], queue.path, queue.name))
		}
	}
	addFailures := func(queue *queueOf) { lose("Failures", queue) }
	var behindStream constructs.IConstruct
	shortest := time.Duration(0)
	for _, m := range a.mappings(f) {
		addFailures(a.failures(m.at, m.at.DestinationConfig()))
		switch m.kind {
		case ofQueue:
			lose("DeadLetters", a.deadLetters(m.queue))
			all = append(all, waits(m.queue))
		case ofStream:
			if age := m.givesUp(); shortest == 0 || age > 0 && age < shortest {
				shortest = age
			}
			behindStream = m.at
		}
	}
	undelivered := false
	for _, c := range every[awslambda.CfnEventInvokeConfig](a) {
		if a.invokes(f, c, c.FunctionName()) && in(c, c.DestinationConfig(), "onFailure") != nil {
			undelivered = true
			addFailures(a.failures(c, c.DestinationConfig()))
		}
	}
	if made, is := unqualified(f.Function).Node().DefaultChild().(awslambda.CfnFunction); is && made.DeadLetterConfig() != nil {
		undelivered = true
		addFailures(a.queue(made, in(made, made.DeadLetterConfig(), "targetArn")))
	}
	if undelivered {
		undelivered := catalog.Function["Undelivered"]
		undelivered.Metric = f.undelivered()
		all = append(all, ofFunction(f.Function, undelivered))
	}
	if behindStream != nil { // one metric for all of them
		age := ofFunction(f.Function, catalog.Function["IteratorAge"])
		age.of, age.end = *behindStream.Node().Path(), shortest
		all = append(all, age)
	}
	return all
}

// served returns the signals of the APIs, load balancers and URLs in front of the function.
func (f *IdempotentFunction) served(a *app) (all []signal) {
	seen := map[string]bool{}
	fails := func(key, source string, metric awscloudwatch.IMetric) {
		if !seen[key] {
			seen[key] = true
			fails := catalog.Function["ServerErrors"]
			fails.Advice = strings.Replace(fails.Advice, "the API", source, 1)
			all = append(all, signal{entry: fails, of: key, metric: metric})
		}
	}
	for _, i := range every[awsapigatewayv2.CfnIntegration](a) {
		if i.IntegrationUri() != nil && a.invokes(f, i, i.IntegrationUri()) {
			fails("the API "+asJSON(plain(i, i.ApiId())), "the API", ofAWS("AWS/ApiGateway", "5xx", "Sum", "ApiId", i.ApiId()))
		}
	}
	for _, m := range every[awsapigateway.CfnMethod](a) {
		// An import hides its name, without which an alarm would never ring.
		if api, made := referred(m.RestApiId()).(awsapigateway.CfnRestApi); made && m.Integration() != nil && a.invokes(f, m, m.Integration()) {
			fails(*api.Node().Path(), "the API", ofAWS("AWS/ApiGateway", "5XXError", "Sum", "ApiName", api.Name()))
		}
	}
	for _, g := range every[awselasticloadbalancingv2.ApplicationTargetGroup](a) {
		resource, made := g.Node().DefaultChild().(awselasticloadbalancingv2.CfnTargetGroup)
		if !made || !a.invokes(f, resource, resource.Targets()) {
			continue
		}
		metrics, options := g.Metrics(), metricOptions("Sum")
		fails(*g.Node().Path(), "behind the load balancer, the function", metrics.HttpCodeTarget(awselasticloadbalancingv2.HttpCodeTarget_TARGET_5XX_COUNT, options))
		fails(*g.Node().Path()+" without a response", "the load balancer", metrics.Custom(jsii.String("LambdaUserError"), options))
	}
	for _, u := range every[awslambda.CfnUrl](a) {
		if a.invokes(f, u, u.TargetFunctionArn()) {
			fails(*u.Node().Path(), "the URL", lambdaMetric(f.Function, "Url5xxCount", "Sum"))
		}
	}
	return all
}

// waits returns the signal of a queue whose messages wait for the function. The retention of an
// import is unknown.
func waits(queue *queueOf) signal {
	retention := time.Duration(0)
	if queue.made != nil {
		retention = declared(queue.made.MessageRetentionPeriod(), time.Second, 4*day)
	}
	age := ofSource(catalog.Function["QueueAge"], queue.path, queue.name)
	age.end = retention
	return age
}

// ofAWS returns a metric of AWS with one dimension.
func ofAWS(namespace, name, statistic, dimension string, value *string) awscloudwatch.IMetric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		DimensionsMap: &map[string]*string{dimension: value}, MetricName: &name, Namespace: &namespace, Period: period(), Statistic: &statistic,
	})
}
