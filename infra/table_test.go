package infra

import (
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

const tableType = "AWS::DynamoDB::GlobalTable"

// wantTable returns the properties of a table with a partition key, and perhaps a sort
// key, in one Region.
func wantTable(keys ...string) map[string]any {
	var attributes, schema []any
	for i, key := range keys {
		attributes = append(attributes, map[string]any{"AttributeName": key, "AttributeType": "S"})
		schema = append(schema, map[string]any{"AttributeName": key, "KeyType": []string{"HASH", "RANGE"}[i]})
	}
	return map[string]any{
		"AttributeDefinitions":    attributes,
		"BillingMode":             "PAY_PER_REQUEST",
		"KeySchema":               schema,
		"TimeToLiveSpecification": map[string]any{"AttributeName": "expiration", "Enabled": true},
		"Replicas": []any{map[string]any{
			"DeletionProtectionEnabled":        true,
			"PointInTimeRecoverySpecification": map[string]any{"PointInTimeRecoveryEnabled": true},
			"Region":                           "eu-west-1",
		}},
	}
}

// wantFate checks whether a table outlives its stack, or goes with it.
func wantFate(t *testing.T, table template.Resource, policy string) {
	t.Helper()
	check.Equal(t, table["DeletionPolicy"], policy)
	check.Equal(t, table["UpdateReplacePolicy"], policy)
	for _, replica := range table.Properties()["Replicas"].([]any) {
		check.Equal(t, replica.(map[string]any)["DeletionProtectionEnabled"], policy == "Retain")
	}
}

func TestTableIsKept(t *testing.T) {
	stack := newStack()
	NewIdempotencyTable(stack, "Table", nil)
	table := only(t, synth(t, stack), tableType)
	check.Equal(t, table.Properties(), wantTable("id"))
	wantFate(t, table, "Retain")
}

func TestTableIsEphemeral(t *testing.T) {
	stack := newStack()
	newFunction(t, stack, func(p *IdempotentFunctionProps) {
		p.Table = NewIdempotencyTable(stack, "Stage", &IdempotencyTableProps{Ephemeral: true})
	})
	deployed := synth(t, stack)
	wantFate(t, deployed.Resources()["Stage"], "Delete")
	check.Equal(t, only(t, deployed, "AWS::Logs::LogGroup")["DeletionPolicy"], "Delete")
}

func TestTableNames(t *testing.T) {
	stack := newStack()
	NewIdempotencyTable(stack, "Table", &IdempotencyTableProps{Expiration: "ttl", ID: "pk", SortKey: "sk", TableName: "records"})
	want := wantTable("pk", "sk")
	want["TableName"] = "records"
	want["TimeToLiveSpecification"] = map[string]any{"AttributeName": "ttl", "Enabled": true}
	check.Equal(t, only(t, synth(t, stack), tableType).Properties(), want)
}

func TestTableWithKeyOfCustomer(t *testing.T) {
	stack := newStack()
	NewIdempotencyTable(stack, "Table", &IdempotencyTableProps{
		Key: customerKey(stack), Replicas: []Replica{{Region: "eu-central-1", KeyARN: keyThere}}, Writers: WritersInOneRegion,
	})
	table := only(t, synth(t, stack), tableType)
	wantFate(t, table, "Retain")
	got := map[any]any{}
	for _, replica := range table.Properties()["Replicas"].([]any) {
		r := replica.(map[string]any)
		got[r["Region"]] = r["SSESpecification"].(map[string]any)["KMSMasterKeyId"]
		check.Equal(t, r["PointInTimeRecoverySpecification"], map[string]any{"PointInTimeRecoveryEnabled": true}, r["Region"])
	}
	check.Equal(t, got, map[any]any{"eu-west-1": keyHere, "eu-central-1": keyThere})
}

func TestStrongTable(t *testing.T) {
	stack := newStack()
	NewIdempotencyTable(stack, "Table", &IdempotencyTableProps{
		Strong: true, SweptElsewhere: true, Replicas: []Replica{{Region: "eu-central-1"}}, Witness: "eu-west-2",
	})
	p := only(t, synth(t, stack), tableType).Properties()
	check.Equal(t, p["MultiRegionConsistency"], "STRONG")
	check.Equal(t, p["TimeToLiveSpecification"], nil)
	check.Equal(t, len(p["GlobalTableWitnesses"].([]any)), 1)
}
