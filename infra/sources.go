package infra

import (
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awselasticloadbalancingv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// sourced returns the signals of the function's event sources in the app, whoever made them.
func (f *IdempotentFunction) sourced(a *app) []signal {
	all := f.served(a)
	seen := map[string]bool{}
	lose := func(name string, queue *queueOf) {
		if queue != nil && !seen[queue.path] {
			seen[queue.path] = true
			all = append(all, ofSource(catalog.Function[name], queue.path, queue.name))
		}
	}
	addFailures := func(queue *queueOf) { lose("Failures", queue) }
	var behindStream, behindTopic constructs.IConstruct
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
		case ofTopic:
			behindTopic = m.at
		}
	}
	outlets := a.outlets(f)
	for _, o := range outlets {
		addFailures(o.queue)
	}
	if len(outlets) > 0 {
		undelivered := catalog.Function["Undelivered"]
		undelivered.Metric = f.undelivered()
		all = append(all, ofFunction(f.Function, undelivered))
	}
	if behindStream != nil { // one metric for all of them
		age := ofFunction(f.Function, catalog.Function["IteratorAge"])
		age.of, age.end = *behindStream.Node().Path(), shortest
		all = append(all, age)
	}
	if behindTopic != nil { // CDK does not count its records
		lag := ofFunction(f.Function, catalog.Function["OffsetLag"])
		lag.of, lag.Threshold = *behindTopic.Node().Path(), 10000
		all = append(all, lag)
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
	for _, api := range a.inlets(f) {
		if api.value != nil { // without it, an alarm would never ring
			fails(api.name, "the API", ofAWS("AWS/ApiGateway", api.metric, "Sum", api.dimension, api.value))
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
