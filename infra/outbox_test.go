package infra

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/jsii-runtime-go"
)

func TestOutbox(t *testing.T) {
	stack := newStack()
	NewOutbox(stack, "Outbox", nil)
	table := only(t, synth(t, stack), "AWS::DynamoDB::GlobalTable")
	want := map[string]any{
		"AttributeDefinitions":    []any{map[string]any{"AttributeName": "aggregate", "AttributeType": "S"}, map[string]any{"AttributeName": "id", "AttributeType": "S"}},
		"BillingMode":             "PAY_PER_REQUEST",
		"KeySchema":               []any{map[string]any{"AttributeName": "aggregate", "KeyType": "HASH"}, map[string]any{"AttributeName": "id", "KeyType": "RANGE"}},
		"StreamSpecification":     map[string]any{"StreamViewType": "NEW_IMAGE"},
		"TimeToLiveSpecification": map[string]any{"AttributeName": "expiration", "Enabled": true},
		"Replicas": []any{map[string]any{
			"DeletionProtectionEnabled":        true,
			"PointInTimeRecoverySpecification": map[string]any{"PointInTimeRecoveryEnabled": true},
			"Region":                           "eu-west-1",
		}},
	}
	if !reflect.DeepEqual(table.Properties(), want) {
		t.Errorf("got %v", table.Properties())
	}
	if table["DeletionPolicy"] != "Retain" || table["UpdateReplacePolicy"] != "Retain" {
		t.Errorf("unpublished messages go with the stack: %v", table)
	}
}

func TestOutboxOfAStage(t *testing.T) {
	stack := newStack()
	NewOutbox(stack, "Outbox", &OutboxProps{Ephemeral: true, TableName: "outbox"})
	table := only(t, synth(t, stack), "AWS::DynamoDB::GlobalTable")
	replica := table.Properties()["Replicas"].([]any)[0].(map[string]any)
	if table["DeletionPolicy"] != "Delete" || replica["DeletionProtectionEnabled"] != false || table.Properties()["TableName"] != "outbox" {
		t.Errorf("got %v", table)
	}
}

func newRole(stack awscdk.Stack) awsiam.Role {
	return awsiam.NewRole(stack, jsii.String("Role"), &awsiam.RoleProps{AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil)})
}

// policy returns the statements of the only policy.
func policy(t *testing.T, stack awscdk.Stack) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, s := range only(t, synth(t, stack), "AWS::IAM::Policy").Properties()["PolicyDocument"].(map[string]any)["Statement"].([]any) {
		all = append(all, s.(map[string]any))
	}
	return all
}

func TestOutboxGrants(t *testing.T) {
	for want, grant := range map[string]func(*Outbox, awsiam.IGrantable) awsiam.Grant{
		"PutItem":         (*Outbox).GrantPublish,
		"UpdateItem":      (*Outbox).GrantMark,
		"Scan UpdateItem": (*Outbox).GrantOperate,
	} {
		t.Run(want, func(t *testing.T) {
			stack := newStack()
			grant(NewOutbox(stack, "Outbox", nil), newRole(stack))
			all := policy(t, stack)
			at := map[string]any{"Fn::GetAtt": []any{"Outbox", "Arn"}}
			if len(all) != 1 || !slices.Equal(actions(all[0]), strings.Fields(want)) || !reflect.DeepEqual(all[0]["Resource"], at) {
				t.Errorf("got %v", all)
			}
		})
	}
}

func TestPublishingIsAllowedOnlyInTransactions(t *testing.T) {
	stack := newStack()
	outbox, role := NewOutbox(stack, "Outbox", nil), newRole(stack)
	outbox.GrantPublish(role)
	outbox.GrantMark(role) // a relay marks outside of transactions
	for _, s := range policy(t, stack) {
		var want any
		if slices.Equal(actions(s), []string{"PutItem"}) {
			want = onlyInTransactions
		}
		if !reflect.DeepEqual(s["Condition"], want) {
			t.Errorf("%v: the condition is %v", s["Action"], s["Condition"])
		}
	}
}

// CDK's own grants leave the key out, and every transaction fails.
func TestOutboxGrantsCoverTheKey(t *testing.T) {
	const arn = "arn:aws:kms:eu-west-1:111122223333:key/a"
	stack := newStack()
	key := awskms.Key_FromKeyArn(stack, jsii.String("Key"), jsii.String(arn))
	NewOutbox(stack, "Outbox", &OutboxProps{Key: key}).GrantPublish(newRole(stack))
	all := policy(t, stack)
	when := map[string]any{"StringEquals": map[string]any{"kms:ViaService": []any{"dynamodb.eu-west-1.amazonaws.com"}}}
	if len(all) != 2 || all[1]["Resource"] != arn || !reflect.DeepEqual(all[1]["Condition"], when) || !slices.Contains(names(all[1]["Action"]), "kms:GenerateDataKey") {
		t.Errorf("got %v", all)
	}
}

// actions of a statement, which CloudFormation may have as one text.
func actions(statement map[string]any) []string {
	if one, ok := statement["Action"].(string); ok {
		return names([]any{one})
	}
	return names(statement["Action"])
}
