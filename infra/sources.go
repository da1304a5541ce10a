package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awselasticloadbalancingv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// sourced returns the signals of the function's event sources in the app, whoever made them.
func (f *IdempotentFunction) sourced(a *app) []signal {
	all := append(f.served(a), f.signals...)
	seen := map[string]bool{}
	lose := func(id, advice string, queue *queueOf) {
		if queue != nil && !seen[queue.path] {
			seen[queue.path] = true
			all = append(all, lost(id, queue, advice))
		}
	}
	giveUp := func(queue *queueOf) {
		lose("Failures", "Lambda has given up on events. Repair the cause of their failure, and send them again.", queue)
	}
	var behindStream *signal
	shortest := time.Duration(0)
	for _, m := range a.mappings(f) {
		giveUp(a.failures(m.at, m.at.DestinationConfig()))
		switch m.kind {
		case ofQueue:
			lose("DeadLetters", "messages are in the dead-letter queue. Repair the cause of their failure, and send them back.", a.deadLetters(m.queue))
			all = append(all, waits(m.queue))
		case ofStream:
			if age := m.givesUp(); shortest == 0 || age > 0 && age < shortest {
				shortest = age
			}
			behindStream = &signal{
				of: *m.at.Node().Path(), id: "IteratorAge", advice: "the function is behind its stream. A record blocks a shard, or the function is too slow.",
				graph: behind, metric: lambdaMetric(f.Function, "IteratorAge", "Maximum"),
			}
		}
	}
	undelivered := false
	for _, c := range every[awslambda.CfnEventInvokeConfig](a) {
		if a.invokes(f, c, c.FunctionName()) && in(c, c.DestinationConfig(), "onFailure") != nil {
			undelivered = true
			giveUp(a.failures(c, c.DestinationConfig()))
		}
	}
	if made, is := unqualified(f.Function).Node().DefaultChild().(awslambda.CfnFunction); is && made.DeadLetterConfig() != nil {
		undelivered = true
		giveUp(a.queue(made, in(made, made.DeadLetterConfig(), "targetArn")))
	}
	if undelivered {
		all = append(all, signal{
			id: "Undelivered", advice: "Lambda cannot put events into the failure queue, and drops them. Check the permissions of the function's role.",
			graph: failing, metric: lambdaMetric(f.Function, f.undelivered(), "Sum"), threshold: fixed(1),
		})
	}
	if behindStream != nil { // one metric for all of them
		all = append(all, aged("IteratorAge", func(p *AlarmsProps) time.Duration { return p.IteratorAge }, time.Hour, shortest, *behindStream))
	}
	return all
}

// served returns the signals of the APIs, load balancers and URLs in front of the function.
func (f *IdempotentFunction) served(a *app) (all []signal) {
	seen := map[string]bool{}
	fails := func(key, source string, metric awscloudwatch.IMetric) {
		if !seen[key] {
			seen[key] = true
			all = append(all, signal{
				of: key, id: "ServerErrors", advice: source + " returns 5xx. The function fails, runs too long, or does not exist.",
				graph: failing, metric: metric, threshold: count(func(p *AlarmsProps) int { return p.ServerErrors }),
			})
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
	return aged("QueueAge", func(p *AlarmsProps) time.Duration { return p.QueueAge }, time.Hour, retention, signal{
		of: queue.path, id: "QueueAge", advice: "the oldest message waits too long. The function fails, or is too slow for the load.",
		graph: waiting, metric: ofAWS("AWS/SQS", "ApproximateAgeOfOldestMessage", "Maximum", "QueueName", queue.name),
	})
}

// lost returns the signal of a queue with events that were given up.
func lost(id string, queue *queueOf, advice string) signal {
	return signal{
		of: queue.path, id: id, ticket: true, advice: advice, graph: givenUp, threshold: fixed(1),
		metric: ofAWS("AWS/SQS", "ApproximateNumberOfMessagesVisible", "Maximum", "QueueName", queue.name),
	}
}

// ofAWS returns a metric of AWS with one dimension.
func ofAWS(namespace, name, statistic, dimension string, value *string) awscloudwatch.IMetric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		DimensionsMap: &map[string]*string{dimension: value}, MetricName: &name, Namespace: &namespace, Period: period(), Statistic: &statistic,
	})
}
