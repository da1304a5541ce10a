package infra

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// Namespace is the CloudWatch namespace of the metrics that package idempotent/emf writes.
const Namespace = "Once"

// outcomes are the values of idempotent.Outcome, which are those of the dimension outcome.
var outcomes = []string{
	"executed", "takeover", "replayed", "repeated", "conflict", "mismatch",
	"lease lost", "released", "timed out", "failed", "unknown", "not run", "suspended", "bypassed",
}

// reasons are the values of idempotent.Refusal, which are those of the dimension reason.
var reasons = []string{"missing key", "invalid key", "unknown caller", "unreadable", "too large", "rejected"}

// metric returns a metric of an operation. dimension is the name and the value of a
// further one, which is the outcome for Calls and the reason for Refused; without it, the
// metric is that of all its values together.
func metric(name, operation, statistic string, dimension ...string) awscloudwatch.Metric {
	dimensions := map[string]*string{"operation": &operation}
	if len(dimension) > 0 {
		dimensions[dimension[0]] = &dimension[1]
	}
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		DimensionsMap: &dimensions, MetricName: &name, Namespace: jsii.String(Namespace), Period: period(), Statistic: &statistic,
	})
}

func sum(name, operation string) awscloudwatch.Metric { return metric(name, operation, "Sum") }

func calls(operation, outcome string) awscloudwatch.Metric {
	if !slices.Contains(outcomes, outcome) {
		panic("infra: no such outcome: " + outcome) // of this package, not of its callers
	}
	return metric("Calls", operation, "Sum", "outcome", outcome)
}

// percent returns the percentage of an operation's calls with one of the outcomes. It is
// 0 in a period with fewer than least calls, because one call of two is 50 %. With least
// 0, a period without any call has no data point.
func percent(operation, label string, least int, among ...string) awscloudwatch.MathExpression {
	var terms []string
	metrics := map[string]awscloudwatch.IMetric{"calls": sum("Calls", operation)}
	for _, outcome := range among {
		id := strings.ReplaceAll(outcome, " ", "")
		metrics[id] = calls(operation, outcome)
		terms = append(terms, "FILL("+id+", 0)")
	}
	expression := "100 * (" + strings.Join(terms, " + ") + ") / calls"
	if least > 0 {
		expression = fmt.Sprintf("IF(calls >= %d, %s, 0)", least, expression)
	}
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: &expression, Label: &label, Period: period(), UsingMetrics: &metrics,
	})
}

func period() awscdk.Duration { return awscdk.Duration_Minutes(jsii.Number(5)) }

func metricOptions(statistic string) *awscloudwatch.MetricOptions {
	return &awscloudwatch.MetricOptions{Period: period(), Statistic: &statistic}
}

// lambdaMetric returns a metric of Lambda itself. CDK's own names an import by its alias or
// version, as FunctionName, and AWS writes no such metric.
func lambdaMetric(function awslambda.IFunction, name, statistic string) awscloudwatch.Metric {
	return unqualified(function).Metric(&name, metricOptions(statistic))
}
