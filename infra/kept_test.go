package infra

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

// immutable are the properties that CloudFormation changes by making a new table or queue,
// which is empty.
var immutable = map[string][]string{
	"AWS::DynamoDB::GlobalTable": {"KeySchema", "LocalSecondaryIndexes", "TableName"},
	"AWS::SQS::Queue":            {"FifoQueue", "QueueName"},
}

// replacing are the fields whose purpose is another table or queue.
var replacing = map[string]string{"QueueProps.FIFO": "FunctionQueue4A448BA8 FunctionQueueDeadLetters3FC7631C"}

// keepsTablesAndQueues checks that no table or queue of one template is missing, or made anew,
// in another that differs by a field.
func keepsTablesAndQueues(t *testing.T, field, before, after string) {
	t.Helper()
	old, err := template.Parse([]byte(before))
	check.Must(t, err)
	changed, err := template.Parse([]byte(after))
	check.Must(t, err)
	var replaced []string
	for kind, properties := range immutable {
		for id, resource := range old.Resources(kind) {
			kept, ok := changed.Resources(kind)[id]
			for _, p := range properties {
				ok = ok && reflect.DeepEqual(resource.Properties()[p], kept.Properties()[p])
			}
			if !ok {
				replaced = append(replaced, id)
			}
		}
	}
	slices.Sort(replaced)
	check.Equal(t, fmt.Sprint(replaced), "["+replacing[field]+"]", field, "replaces")
}
