package infra

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/jsii-runtime-go"
)

// onlyInTransactions does not hold for a request that is made alone.
var onlyInTransactions = map[string]any{"ForAnyValue:StringEquals": map[string]any{"dynamodb:EnclosingOperation": "TransactWriteItems"}}

func TestGrantTransactAllowsNothingOutsideOfTransactions(t *testing.T) {
	for want, writes := range map[string][]TransactWrite{
		"ConditionCheckItem": {TransactCheck},
		"DeleteItem":         {TransactDelete},
		"PutItem":            {TransactPut, TransactPut},
		"UpdateItem":         {TransactUpdate},
		"ConditionCheckItem DeleteItem PutItem UpdateItem": {TransactUpdate, TransactPut, TransactDelete, TransactCheck},
	} {
		t.Run(want, func(t *testing.T) {
			stack := newStack()
			table := awsdynamodb.NewTableV2(stack, jsii.String("Accounts"), &awsdynamodb.TablePropsV2{PartitionKey: stringKey("id")})
			GrantTransact(newRole(stack), table, writes...)
			all := policy(t, stack)
			at := map[string]any{"Fn::GetAtt": []any{"Accounts", "Arn"}}
			if len(all) != 1 || !slices.Equal(actions(all[0]), strings.Fields(want)) || !reflect.DeepEqual(all[0]["Resource"], at) {
				t.Errorf("got %v", all)
			}
			if !reflect.DeepEqual(all[0]["Condition"], onlyInTransactions) {
				t.Errorf("the condition is %v", all[0]["Condition"])
			}
		})
	}
}

func TestGrantTransactCoversTheKey(t *testing.T) {
	stack := newStack()
	key := awskms.Key_FromKeyArn(stack, jsii.String("Key"), jsii.String("arn:aws:kms:eu-west-1:111122223333:key/a"))
	table := awsdynamodb.NewTableV2(stack, jsii.String("Accounts"), &awsdynamodb.TablePropsV2{
		Encryption: awsdynamodb.TableEncryptionV2_CustomerManagedKey(key, nil), PartitionKey: stringKey("id"),
	})
	GrantTransact(newRole(stack), table, TransactUpdate)
	if all := policy(t, stack); len(all) != 2 || all[1]["Resource"] != "arn:aws:kms:eu-west-1:111122223333:key/a" {
		t.Errorf("got %v", all)
	}
}

func TestGrantTransactRefuses(t *testing.T) {
	for words, writes := range map[string][]TransactWrite{
		"there is none": nil,
		"0 is unknown":  {0, TransactPut},
		"9 is unknown":  {TransactPut, 9},
	} {
		stack := newStack()
		table := awsdynamodb.NewTableV2(stack, jsii.String("Accounts"), &awsdynamodb.TablePropsV2{PartitionKey: stringKey("id")})
		role := newRole(stack)
		wantRefusal(t, words, func() { GrantTransact(role, table, writes...) })
		if refused := refusal(t, func() { GrantTransact(role, table, writes...) }); refused == nil || refused.Construct != "S/Accounts" {
			t.Errorf("%s: refused by %v", words, refused)
		}
	}
}
