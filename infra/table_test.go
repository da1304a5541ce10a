package infra

import (
	"reflect"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/jsii-runtime-go"
)

const globalTable = "AWS::DynamoDB::GlobalTable"

func TestTableIsKept(t *testing.T) {
	stack := newStack()
	NewIdempotencyTable(stack, "Table", nil)
	table := only(t, synth(t, stack), globalTable)
	want := map[string]any{
		"AttributeDefinitions":    []any{map[string]any{"AttributeName": "id", "AttributeType": "S"}},
		"BillingMode":             "PAY_PER_REQUEST",
		"KeySchema":               []any{map[string]any{"AttributeName": "id", "KeyType": "HASH"}},
		"TimeToLiveSpecification": map[string]any{"AttributeName": "expiration", "Enabled": true},
		"Replicas": []any{map[string]any{
			"DeletionProtectionEnabled":        true,
			"PointInTimeRecoverySpecification": map[string]any{"PointInTimeRecoveryEnabled": true},
			"Region":                           "eu-west-1",
		}},
	}
	if got := table.Properties(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if table["DeletionPolicy"] != "Retain" || table["UpdateReplacePolicy"] != "Retain" {
		t.Errorf("it goes with its stack: %v", table)
	}
}

func TestTableIsEphemeral(t *testing.T) {
	stack := newStack()
	table := NewIdempotencyTable(stack, "Table", &IdempotencyTableProps{Ephemeral: true})
	NewIdempotentFunction(stack, "Function", &IdempotentFunctionProps{Code: zip(t), Table: table})
	deployed := synth(t, stack)
	r := only(t, deployed, globalTable)
	replica := r.Properties()["Replicas"].([]any)[0].(map[string]any)
	if replica["DeletionProtectionEnabled"] != false || r["DeletionPolicy"] != "Delete" {
		t.Errorf("got %v", r)
	}
	if logs := only(t, deployed, "AWS::Logs::LogGroup"); logs["DeletionPolicy"] != "Delete" {
		t.Errorf("got %v", logs)
	}
}

func TestTableNames(t *testing.T) {
	stack := newStack()
	NewIdempotencyTable(stack, "Table", &IdempotencyTableProps{Expiration: "ttl", ID: "pk", SortKey: "sk", TableName: "records"})
	p := only(t, synth(t, stack), globalTable).Properties()
	keys := []any{map[string]any{"AttributeName": "pk", "KeyType": "HASH"}, map[string]any{"AttributeName": "sk", "KeyType": "RANGE"}}
	ttl := map[string]any{"AttributeName": "ttl", "Enabled": true}
	if !reflect.DeepEqual(p["KeySchema"], keys) || !reflect.DeepEqual(p["TimeToLiveSpecification"], ttl) || p["TableName"] != "records" {
		t.Errorf("got %v", p)
	}
}

func TestTableWithKeyOfCustomer(t *testing.T) {
	stack := newStack()
	key := awskms.Key_FromKeyArn(stack, jsii.String("Key"), jsii.String("arn:aws:kms:eu-west-1:111122223333:key/a"))
	NewIdempotencyTable(stack, "Table", &IdempotencyTableProps{
		Key: key, Replicas: []Replica{{Region: "eu-central-1", KeyARN: "arn:aws:kms:eu-central-1:111122223333:key/b"}}, Writers: WritersInOneRegion,
	})
	got := map[string]any{}
	for _, r := range only(t, synth(t, stack), globalTable).Properties()["Replicas"].([]any) {
		r := r.(map[string]any)
		got[r["Region"].(string)] = r["SSESpecification"].(map[string]any)["KMSMasterKeyId"]
		if r["DeletionProtectionEnabled"] != true || r["PointInTimeRecoverySpecification"] == nil {
			t.Errorf("a replica is not protected: %v", r)
		}
	}
	want := map[string]any{
		"eu-west-1":    "arn:aws:kms:eu-west-1:111122223333:key/a",
		"eu-central-1": "arn:aws:kms:eu-central-1:111122223333:key/b",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestStrongTable(t *testing.T) {
	stack := newStack()
	NewIdempotencyTable(stack, "Table", &IdempotencyTableProps{
		Strong: true, SweptElsewhere: true, Replicas: []Replica{{Region: "eu-central-1"}}, Witness: "eu-west-2",
	})
	p := only(t, synth(t, stack), globalTable).Properties()
	if p["MultiRegionConsistency"] != "STRONG" || p["TimeToLiveSpecification"] != nil || len(p["GlobalTableWitnesses"].([]any)) != 1 {
		t.Errorf("got %v", p)
	}
}
