package infra

import (
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awselasticloadbalancingv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/appcheck"
)

// sourced returns the signals of the function's event sources in the app, whoever made them.
func (f *IdempotentFunction) sourced(a *appcheck.App) []signal {
	all := f.served(a)
	seen := map[string]bool{}
	lose := func(name string, queue *appcheck.Queue) {
		if queue != nil && !seen[queue.Path] {
			seen[queue.Path] = true
			all = append(all, ofSource(catalog.Function[name], queue.Path, queue.Name))
		}
	}
	addFailures := func(queue *appcheck.Queue) { lose("Failures", queue) }
	var behindStream, behindTopic constructs.IConstruct
	shortest := time.Duration(0)
	for _, m := range a.Mappings(f.known) {
		addFailures(a.Failures(m.At, m.At.DestinationConfig()))
		switch m.Kind {
		case appcheck.OfQueue:
			lose("DeadLetters", a.DeadLetters(m.Queue))
			age := ofSource(catalog.Function["QueueAge"], m.Queue.Path, m.Queue.Name)
			age.end = m.Queue.Retention()
			all = append(all, age)
		case appcheck.OfStream:
			if age := m.GivesUp(); shortest == 0 || age > 0 && age < shortest {
				shortest = age
			}
			behindStream = m.At
		case appcheck.OfTopic:
			behindTopic = m.At
		}
	}
	outlets := a.Outlets(f.known)
	for _, o := range outlets {
		addFailures(o.Queue)
	}
	if len(outlets) > 0 {
		undelivered := catalog.Function["Undelivered"]
		if f.props.Durable != nil { // its queue is no destination
			undelivered.Metric = "DeadLetterErrors"
		}
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
func (f *IdempotentFunction) served(a *appcheck.App) (all []signal) {
	seen := map[string]bool{}
	fails := func(key, source string, metric awscloudwatch.IMetric) {
		if !seen[key] {
			seen[key] = true
			fails := catalog.Function["ServerErrors"]
			fails.Advice = strings.Replace(fails.Advice, "the API", source, 1)
			all = append(all, signal{entry: fails, of: key, metric: metric})
		}
	}
	for _, api := range a.Inlets(f.known) {
		if api.Value != nil { // without it, an alarm would never ring
			fails(api.Name, "the API", ofAWS("AWS/ApiGateway", api.Metric, "Sum", api.Dimension, api.Value))
		}
	}
	for _, g := range appcheck.Every[awselasticloadbalancingv2.ApplicationTargetGroup](a) {
		resource, made := g.Node().DefaultChild().(awselasticloadbalancingv2.CfnTargetGroup)
		if !made || !a.Invokes(f.known, resource, resource.Targets()) {
			continue
		}
		metrics, options := g.Metrics(), metricOptions("Sum")
		fails(*g.Node().Path(), "behind the load balancer, the function", metrics.HttpCodeTarget(awselasticloadbalancingv2.HttpCodeTarget_TARGET_5XX_COUNT, options))
		fails(*g.Node().Path()+" without a response", "the load balancer", metrics.Custom(jsii.String("LambdaUserError"), options))
	}
	for _, u := range appcheck.Every[awslambda.CfnUrl](a) {
		if a.Invokes(f.known, u, u.TargetFunctionArn()) {
			fails(*u.Node().Path(), "the URL", lambdaMetric(f.Function, "Url5xxCount", "Sum"))
		}
	}
	return all
}

// ofAWS returns a metric of AWS with one dimension.
func ofAWS(namespace, name, statistic, dimension string, value *string) awscloudwatch.IMetric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		DimensionsMap: &map[string]*string{dimension: value}, MetricName: &name, Namespace: &namespace, Period: period(), Statistic: &statistic,
	})
}
