package infra

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

const tableARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/powertools"

// usesImport returns the template of a function whose records are in an imported table.
func usesImport(t *testing.T, props *ImportedTableProps) (policy, environment string) {
	t.Helper()
	stack := newStack()
	table := ImportIdempotencyTable(awsdynamodb.TableV2_FromTableArn(stack, jsii.String("Powertools"), jsii.String(tableARN)), props)
	newFunction(t, stack, func(p *IdempotentFunctionProps) {
		p.Table, p.Execute = table, &ExecuteOptions{Operations: []string{"pay"}}
	})
	deployed := synth(t, stack)
	return text(t, only(t, deployed, "AWS::IAM::Policy")), text(t, only(t, deployed, "AWS::Lambda::Function"))
}

// text returns a resource as JSON.
func text(t *testing.T, resource template.Resource) string {
	t.Helper()
	b, err := json.Marshal(resource)
	check.Must(t, err)
	return string(b)
}

func TestFunctionUsesAnImportedTable(t *testing.T) {
	policy, environment := usesImport(t, nil)
	check.Contains(t, policy, tableARN)
	check.Contains(t, policy, `"dynamodb:LeadingKeys":["pay#*"]`)
	check.Contains(t, environment, `"IDEMPOTENCY_TABLE":"powertools"`)
}

func TestImportedTableRefuses(t *testing.T) {
	wantRefusal(t, "table: it is required", func() { ImportIdempotencyTable(nil, nil) })
	wantRefusal(t, "does not contain the operation", func() { usesImport(t, &ImportedTableProps{SortKey: "sk"}) })
}
