package infra

import (
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/appcheck"
)

// Namespace is the CloudWatch namespace of the metrics that package idempotent/emf writes.
const Namespace = "Once"

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
	if !slices.Contains(catalog.Outcomes, outcome) {
		panic("infra: no such outcome: " + outcome) // of this package, not of its callers
	}
	return metric("Calls", operation, "Sum", "outcome", outcome)
}

// percent returns the percentage of an operation's calls with one of the outcomes. A period
// without any call has no data point.
func percent(operation, label string, among ...string) awscloudwatch.MathExpression {
	return ofCalls("100 * (FILL("+strings.Join(among, ", 0) + FILL(")+", 0)) / calls", label, operation, among...)
}

// ofCalls returns an expression of an operation's calls, all of them and those with the outcomes.
func ofCalls(text, label, operation string, among ...string) awscloudwatch.MathExpression {
	metrics := map[string]awscloudwatch.IMetric{"calls": sum("Calls", operation)}
	for _, outcome := range among {
		metrics[outcome] = calls(operation, outcome)
	}
	return expression(text, label, period(), metrics)
}

func expression(text, label string, period awscdk.Duration, metrics map[string]awscloudwatch.IMetric) awscloudwatch.MathExpression {
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{Expression: &text, Label: &label, Period: period, UsingMetrics: &metrics})
}

func period() awscdk.Duration { return awscdk.Duration_Minutes(jsii.Number(5)) }

func metricOptions(statistic string) *awscloudwatch.MetricOptions {
	return &awscloudwatch.MetricOptions{Period: period(), Statistic: &statistic}
}

// lambdaMetric returns a metric of Lambda itself. CDK's own names an import by its alias or
// version, as FunctionName, and AWS writes no such metric.
func lambdaMetric(function awslambda.IFunction, name, statistic string) awscloudwatch.Metric {
	return appcheck.Unqualified(function).Metric(&name, metricOptions(statistic))
}

func (f *IdempotentFunction) operations() []string {
	if f.props.Operations == nil && f.props.Execute != nil {
		return f.props.Execute.Operations
	}
	return f.props.Operations
}

// stated returns the operations that the functions state, without duplicates and without
// those of functions that write no metrics.
func stated(functions []*IdempotentFunction) []string {
	var operations []string
	for _, f := range functions {
		if f == nil || f.props.NoMetrics {
			continue
		}
		for _, operation := range f.operations() {
			if !slices.Contains(operations, operation) {
				operations = append(operations, operation)
			}
		}
	}
	return operations
}

// dimension matches the values that CloudWatch takes for a dimension.
var dimension = regexp.MustCompile(`^[ -9;-~][ -~]{0,254}$`)

func refuseOperations(operations []string) (found problems) {
	names := map[string]bool{}
	for _, operation := range operations {
		blank := strings.TrimSpace(operation) == ""
		found.when(blank || names[operation], "Operations: %q is blank or listed twice", operation)
		found.when(!blank && !dimension.MatchString(operation),
			"Operations: %q is no dimension of CloudWatch, which has 1 to 255 printable characters of ASCII, and no colon at its beginning", operation)
		names[operation] = true
	}
	return found
}

// refuseUnknown reports operations that no function with metrics states: their alarms would
// never ring, for lack of a metric. A function that states none may have any.
func refuseUnknown(functions []*IdempotentFunction, operations []string) (found problems) {
	if len(functions) == 0 || slices.ContainsFunc(functions, func(f *IdempotentFunction) bool { return f == nil || len(f.operations()) == 0 }) {
		return found
	}
	known := stated(functions)
	for _, operation := range operations {
		found.when(!slices.Contains(known, operation), "Operations: no function with metrics states %q; they state %q", operation, known)
	}
	return found
}
