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

// Namespace is the CloudWatch namespace of the metrics that package
// idempotent/emf writes.
const Namespace = "Once"

// The dimensions of metrics.
const (
	dimOperation = "operation"
	dimOutcome   = "outcome"
	dimReason    = "reason"
)

// The metrics. All have the dimension operation; Calls also has outcome, and
// Refused reason.
const (
	metricCalls          = "Calls"
	metricLapsedLeases   = "LapsedLeases"
	metricOverhead       = "Overhead" // milliseconds of a call outside its handler
	metricRefused        = "Refused"
	metricRoundTrips     = "RoundTrips"
	metricStoreErrors    = "StoreErrors"
	metricStoreThrottles = "StoreThrottles"
)

// outcomes returns the values of idempotent.Outcome, which are those of the
// dimension outcome.
func outcomes() []string {
	return []string{
		"executed", "takeover", "replayed", "conflict", "mismatch",
		"lease lost", "released", "timed out", "failed", "unknown", "not run", "suspended", "bypassed",
	}
}

// reasons returns the values of idempotent.Refusal, which are those of the
// dimension reason.
func reasons() []string {
	return []string{"missing key", "invalid key", "unknown caller", "unreadable", "too large", "rejected"}
}

// used is a metric of Once on a dashboard or in an alarm.
type used struct {
	name, operation string
	outcome         string // "": of all outcomes together
	reason          string // "": of all reasons together
}

func (u used) metric(statistic string) awscloudwatch.Metric {
	dimensions := map[string]*string{dimOperation: &u.operation}
	if u.outcome != "" {
		if !slices.Contains(outcomes(), u.outcome) {
			panic("infra: no such outcome: " + u.outcome) // of this package, not of its callers
		}
		dimensions[dimOutcome] = &u.outcome
	}
	if u.reason != "" {
		dimensions[dimReason] = &u.reason
	}
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		DimensionsMap: &dimensions,
		MetricName:    &u.name,
		Namespace:     jsii.String(Namespace),
		Period:        period(),
		Statistic:     &statistic,
	})
}

func calls(operation, outcome string) awscloudwatch.Metric {
	return used{name: metricCalls, operation: operation, outcome: outcome}.metric("Sum")
}

// percent returns the percentage of an operation's calls with one of the outcomes.
// A period without any call has no data point.
func percent(operation, label string, among ...string) awscloudwatch.MathExpression {
	return percentOfMany(operation, label, 0, among...)
}

// percentOfMany is like percent, but 0 in a period with fewer than least calls: one
// call of two is 50 %.
func percentOfMany(operation, label string, least int, among ...string) awscloudwatch.MathExpression {
	var sum []string
	metrics := map[string]awscloudwatch.IMetric{"calls": calls(operation, "")}
	for _, outcome := range among {
		id := strings.ReplaceAll(outcome, " ", "")
		metrics[id] = calls(operation, outcome)
		sum = append(sum, "FILL("+id+", 0)")
	}
	expression := "100 * (" + strings.Join(sum, " + ") + ") / calls"
	if least > 0 {
		expression = fmt.Sprintf("IF(calls >= %d, %s, 0)", least, expression)
	}
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression:   &expression,
		Label:        &label,
		Period:       period(),
		UsingMetrics: &metrics,
	})
}

func period() awscdk.Duration { return awscdk.Duration_Minutes(jsii.Number(5)) }

func metricOptions(statistic string) *awscloudwatch.MetricOptions {
	return &awscloudwatch.MetricOptions{Period: period(), Statistic: &statistic}
}

// lambdaMetric returns a metric of Lambda itself.
func lambdaMetric(function awslambda.Function, name, statistic string) awscloudwatch.Metric {
	return function.Metric(&name, metricOptions(statistic))
}
