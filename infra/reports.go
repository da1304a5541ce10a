package infra

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
)

// reports finds event source mappings of the app that invoke a function without
// ReportBatchItemFailures, which is the default of CDK. CDK asks it at synthesis, because a
// mapping may be created after the function is protected.
type reports struct{ of *IdempotentFunction }

func (r *reports) Validate() *[]*string {
	var found []*string
	var names []*string
	all := *r.of.scope.Node().Root().Node().FindAll("")
	for _, c := range all {
		if f, ok := c.(awslambda.IFunction); ok && *unqualified(f).FunctionArn() == *unqualified(r.of.Function).FunctionArn() {
			names = append(names, f.FunctionName(), f.FunctionArn())
		}
	}
	for _, c := range all {
		mapping, ok := c.(awslambda.CfnEventSourceMapping)
		if !ok || !lacksReports(mapping) {
			continue
		}
		stack := awscdk.Stack_Of(mapping)
		invoked := stack.Resolve(mapping.FunctionName())
		if slices.ContainsFunc(names, func(name *string) bool { return reflect.DeepEqual(stack.Resolve(name), invoked) }) {
			text := fmt.Sprintf("infra: %s invokes %s without ReportBatchItemFailures, and Lambda would delete the messages that failed; set ReportBatchItemFailures of its event source",
				*mapping.Node().Path(), *r.of.scope.Node().Path())
			found = append(found, &text)
		}
	}
	return &found
}

// lacksReports reports whether a mapping lacks the reports that its source has: that of a
// queue of SQS or of a stream, which has neither topics, nor queues of a broker, nor
// collections.
func lacksReports(m awslambda.CfnEventSourceMapping) bool {
	if m.Topics() != nil || m.Queues() != nil || m.DocumentDbEventSourceConfig() != nil {
		return false
	}
	types := m.FunctionResponseTypes()
	return types == nil || !slices.ContainsFunc(*types, func(kind *string) bool { return *kind == "ReportBatchItemFailures" })
}
