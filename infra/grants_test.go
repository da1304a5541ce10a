package infra

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/template"
)

// statements returns the statements that a grant adds to a role.
func statements(t *testing.T, props *IdempotencyTableProps, grant func(*IdempotencyTable, awsiam.IGrantable)) []map[string]any {
	t.Helper()
	stack := newStack()
	role := awsiam.NewRole(stack, jsii.String("Role"), &awsiam.RoleProps{AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil)})
	grant(NewIdempotencyTable(stack, "Table", props), role)
	deployed := synth(t, stack)
	if found := deployed.Problems(template.Wildcard, template.Actions{}); len(found) > 0 {
		t.Error(found)
	}
	var all []map[string]any
	for _, s := range only(t, deployed, "AWS::IAM::Policy").Properties()["PolicyDocument"].(map[string]any)["Statement"].([]any) {
		all = append(all, s.(map[string]any))
	}
	return all
}

func names(actions any) []string {
	var list []string
	for _, a := range actions.([]any) {
		list = append(list, strings.TrimPrefix(a.(string), "dynamodb:"))
	}
	slices.Sort(list)
	return list
}

func TestGrants(t *testing.T) {
	execute := func(o *ExecuteOptions) func(*IdempotencyTable, awsiam.IGrantable) {
		return func(table *IdempotencyTable, role awsiam.IGrantable) { table.GrantExecute(role, o) }
	}
	for name, c := range map[string]struct {
		grant func(*IdempotencyTable, awsiam.IGrantable)
		want  string
	}{
		"execute":           {execute(nil), "DeleteItem GetItem PutItem UpdateItem"},
		"with transactions": {execute(&ExecuteOptions{Transactions: true}), "DeleteItem GetItem PutItem UpdateItem"},
		"with group commit": {execute(&ExecuteOptions{Group: true}),
			"BatchGetItem DeleteItem GetItem PartiQLDelete PartiQLInsert PartiQLUpdate PutItem UpdateItem"},
		"operate": {func(table *IdempotencyTable, role awsiam.IGrantable) { table.GrantOperate(role) }, "DeleteItem GetItem Query Scan UpdateItem"},
		"sweep":   {func(table *IdempotencyTable, role awsiam.IGrantable) { table.GrantSweep(role) }, "DeleteItem Scan"},
	} {
		t.Run(name, func(t *testing.T) {
			all := statements(t, nil, c.grant)
			if len(all) != 1 || all[0]["Condition"] != nil {
				t.Fatalf("got %v", all)
			}
			if got := names(all[0]["Action"]); !slices.Equal(got, strings.Fields(c.want)) {
				t.Errorf("got %v", got)
			}
			if at := fmt.Sprint(all[0]["Resource"]); at != "map[Fn::GetAtt:[Table Arn]]" {
				t.Errorf("on %s", at)
			}
		})
	}
}

// Without the second condition, the first holds for a request that names no
// leading key at all.
func TestGrantByOperation(t *testing.T) {
	want := map[string]any{
		"ForAllValues:StringLike": map[string]any{"dynamodb:LeadingKeys": []any{"create-payment#*", "refund#*"}},
		"Null":                    map[string]any{"dynamodb:LeadingKeys": "false"},
	}
	for _, group := range []bool{false, true} {
		all := statements(t, nil, func(table *IdempotencyTable, role awsiam.IGrantable) {
			table.GrantExecute(role, &ExecuteOptions{Group: group, Operations: []string{"create-payment", "refund"}})
		})
		// One statement: no action escapes the condition.
		if len(all) != 1 || !reflect.DeepEqual(all[0]["Condition"], want) {
			t.Errorf("group %t: got %v", group, all)
		}
	}
}

// CDK's own grants leave the key out, and the first call of the function fails.
func TestGrantCoversReplicasAndKeys(t *testing.T) {
	stack := newStack()
	key := awskms.Key_FromKeyArn(stack, jsii.String("Key"), jsii.String("arn:aws:kms:eu-west-1:111122223333:key/a"))
	all := statements(t, &IdempotencyTableProps{
		Key: key, Replicas: []Replica{{Region: "eu-central-1", KeyARN: "arn:aws:kms:eu-central-1:111122223333:key/b"}}, Writers: WritersByHomeRegion,
	}, func(table *IdempotencyTable, role awsiam.IGrantable) { table.GrantExecute(role, nil) })
	if len(all) != 2 {
		t.Fatalf("got %v", all)
	}
	if tables := fmt.Sprint(all[0]["Resource"]); !strings.Contains(tables, "[Table Arn]") || !strings.Contains(tables, ":dynamodb:eu-central-1:111122223333:table/") {
		t.Errorf("on the tables %s", tables)
	}
	wantKeys := []any{"arn:aws:kms:eu-west-1:111122223333:key/a", "arn:aws:kms:eu-central-1:111122223333:key/b"}
	wantWhen := map[string]any{"StringEquals": map[string]any{"kms:ViaService": []any{"dynamodb.eu-west-1.amazonaws.com", "dynamodb.eu-central-1.amazonaws.com"}}}
	if !reflect.DeepEqual(all[1]["Resource"], wantKeys) || !reflect.DeepEqual(all[1]["Condition"], wantWhen) {
		t.Errorf("got %v", all[1])
	}
	want := strings.Fields("kms:Decrypt kms:DescribeKey kms:Encrypt kms:GenerateDataKey kms:GenerateDataKeyWithoutPlaintext kms:ReEncryptFrom kms:ReEncryptTo")
	if got := names(all[1]["Action"]); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// A Region has one construct in a stack, however many grants it takes.
func TestGrantsOnReplicas(t *testing.T) {
	stack := newStack()
	table := NewIdempotencyTable(stack, "Table", &IdempotencyTableProps{
		Strong: true, SweptElsewhere: true, Replicas: []Replica{{Region: "eu-central-1"}, {Region: "eu-west-2"}},
	})
	for _, id := range []string{"Payments", "Orders"} {
		NewIdempotentFunction(stack, id, &IdempotentFunctionProps{Code: zip(t), Table: table})
	}
	sweeper := awsiam.NewRole(stack, jsii.String("Sweeper"), &awsiam.RoleProps{AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil)})
	table.GrantSweep(sweeper)
	policies := synth(t, stack).Resources("AWS::IAM::Policy")
	if len(policies) != 3 {
		t.Fatalf("got %v", policies)
	}
	for id, policy := range policies {
		for _, region := range []string{"eu-central-1", "eu-west-2"} {
			if !strings.Contains(fmt.Sprint(policy), ":dynamodb:"+region+":111122223333:table/") {
				t.Errorf("%s does not cover %s", id, region)
			}
		}
	}
}

func TestGrantRefuses(t *testing.T) {
	strong := &IdempotencyTableProps{Strong: true, SweptElsewhere: true, Replicas: []Replica{{Region: "eu-central-1"}, {Region: "eu-west-2"}}}
	for name, c := range map[string]struct {
		table   *IdempotencyTableProps
		options ExecuteOptions
		words   string
	}{
		"transactions on a strong table":  {strong, ExecuteOptions{Transactions: true}, "no transactions on a table with strong consistency"},
		"operations with composite keys":  {&IdempotencyTableProps{SortKey: "sk"}, ExecuteOptions{Operations: []string{"pay"}}, "does not contain the operation"},
		"an operation that is a pattern":  {nil, ExecuteOptions{Operations: []string{"pay*"}}, `"pay*" is empty, or contains one of`},
		"a list of no operations":         {nil, ExecuteOptions{Operations: []string{}}, "the list is empty"},
		"an empty operation":              {nil, ExecuteOptions{Operations: []string{""}}, `"" is empty`},
		"transactions on any other table": {nil, ExecuteOptions{Transactions: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			role := awsiam.NewRole(stack, jsii.String("Role"), &awsiam.RoleProps{AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil)})
			table := NewIdempotencyTable(stack, "Table", c.table)
			wantRefusal(t, c.words, func() { table.GrantExecute(role, &c.options) })
		})
	}
}
