package infra

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// reports finds event source mappings of the app that invoke a function without
// ReportBatchItemFailures, which is the default of CDK. CDK asks it at synthesis, because a
// mapping may be created after the function is protected.
type reports struct{ of *IdempotentFunction }

func (r *reports) Validate() *[]*string {
	var found, names []*string
	for _, f := range inApp[awslambda.IFunction](r.of.scope) {
		if *unqualified(f).FunctionArn() == *unqualified(r.of.Function).FunctionArn() {
			names = append(names, f.FunctionName(), f.FunctionArn())
		}
	}
	for _, mapping := range inApp[awslambda.CfnEventSourceMapping](r.of.scope) {
		resolve := awscdk.Stack_Of(mapping).Resolve
		invokes := func(name *string) bool { return reflect.DeepEqual(resolve(name), resolve(mapping.FunctionName())) }
		if lacksReports(mapping) && slices.ContainsFunc(names, invokes) {
			found = append(found, jsii.Sprintf("infra: %s invokes %s without ReportBatchItemFailures, and Lambda would delete the messages that failed; set ReportBatchItemFailures of its event source",
				*mapping.Node().Path(), *r.of.scope.Node().Path()))
		}
	}
	return &found
}

// lacksReports reports whether a mapping lacks the reports that a queue of SQS or a stream has.
// Kafka, Amazon MQ and DocumentDB have topics, queues and collections.
func lacksReports(m awslambda.CfnEventSourceMapping) bool {
	other := m.Topics() != nil || m.Queues() != nil || m.DocumentDbEventSourceConfig() != nil
	types := cmp.Or(m.FunctionResponseTypes(), &[]*string{})
	return !other && !slices.ContainsFunc(*types, func(kind *string) bool { return *kind == "ReportBatchItemFailures" })
}
