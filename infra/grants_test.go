package infra

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

// inPolicy returns the statements of a policy.
func inPolicy(policy template.Resource) (all []map[string]any) {
	for _, s := range policy.Properties()["PolicyDocument"].(map[string]any)["Statement"].([]any) {
		all = append(all, s.(map[string]any))
	}
	return all
}

// granted returns the statements of the only policy, one for each of want: the sorted
// actions, without the prefix of DynamoDB.
func granted(t *testing.T, stack awscdk.Stack, want ...string) []map[string]any {
	t.Helper()
	deployed := synth(t, stack)
	all := inPolicy(only(t, deployed, "AWS::IAM::Policy"))
	var got []string
	for _, s := range all {
		actions := strings.Fields(strings.Trim(fmt.Sprint(s["Action"]), "[]"))
		slices.Sort(actions)
		got = append(got, strings.ReplaceAll(strings.Join(actions, " "), "dynamodb:", ""))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	return all
}

// The use of a key.
const useOfKey = "kms:Decrypt kms:DescribeKey kms:Encrypt kms:GenerateDataKey kms:GenerateDataKeyWithoutPlaintext kms:ReEncryptFrom kms:ReEncryptTo"

// execute allows a role the calls of the store.
func execute(o *ExecuteOptions) func(*IdempotencyTable, awsiam.IGrantable) awsiam.Grant {
	return func(table *IdempotencyTable, role awsiam.IGrantable) awsiam.Grant { return table.GrantExecute(role, o) }
}

// CDK's own grants leave the key out, and the first call of the function fails.
func TestGrantCoversReplicasAndKeys(t *testing.T) {
	stack := newStack()
	NewIdempotencyTable(stack, "Table", &IdempotencyTableProps{
		Key: customerKey(stack), Replicas: []Replica{{Region: "eu-central-1", KeyARN: keyThere}}, Writers: WritersByHomeRegion,
	}).GrantExecute(newRole(stack), nil)
	all := granted(t, stack, "DeleteItem GetItem PutItem UpdateItem", useOfKey)
	check.Contains(t, all[0]["Resource"], "[Table Arn]")
	check.Contains(t, all[0]["Resource"], ":dynamodb:eu-central-1:111122223333:table/")
	check.Equal(t, all[1]["Resource"], []any{keyHere, keyThere})
	check.Equal(t, all[1]["Condition"], map[string]any{"StringEquals": map[string]any{
		"kms:ViaService": []any{"dynamodb.eu-west-1.amazonaws.com", "dynamodb.eu-central-1.amazonaws.com"},
	}})
}

// strong is a table in three Regions.
var strong = IdempotencyTableProps{Strong: true, SweptElsewhere: true, Replicas: []Replica{{Region: "eu-central-1"}, {Region: "eu-west-2"}}}

// A Region has one construct in a stack, however many grants it takes.
func TestGrantsOnReplicas(t *testing.T) {
	stack := newStack()
	table := NewIdempotencyTable(stack, "Table", &strong)
	for _, id := range []string{"Payments", "Orders"} {
		NewIdempotentFunction(stack, id, &IdempotentFunctionProps{Code: zip(t), Table: table})
	}
	table.GrantSweep(newRole(stack))
	policies := synth(t, stack).Resources("AWS::IAM::Policy")
	check.Equal(t, len(policies), 3)
	for id, policy := range policies {
		for _, region := range []string{"eu-central-1", "eu-west-2"} {
			check.Contains(t, policy, ":dynamodb:"+region+":111122223333:table/", id)
		}
	}
}

func TestGrantRefuses(t *testing.T) {
	for words, c := range map[string]struct {
		table   *IdempotencyTableProps
		options ExecuteOptions
	}{
		"no transactions on a table with strong consistency": {&strong, ExecuteOptions{Transactions: true}},
		`"pay*" is empty, or contains one of`:                {nil, ExecuteOptions{Operations: []string{"pay*"}}},
		"the list is empty":                                  {nil, ExecuteOptions{Operations: []string{}}},
		`"" is empty`:                                        {nil, ExecuteOptions{Operations: []string{""}}},
		"":                                                   {nil, ExecuteOptions{Transactions: true}},
	} {
		stack := newStack()
		table, role := NewIdempotencyTable(stack, "Table", c.table), newRole(stack)
		wantRefusal(t, words, func() { table.GrantExecute(role, &c.options) })
	}
}

func TestMissingGranteeOrTableIsRefused(t *testing.T) {
	f := newFunction(t, newStack(), nil)
	table := f.props.Table
	wantRefusal(t, "grantee: it is required", func() { table.GrantExecute(nil, nil) })
	wantRefusal(t, "grantee: it is required", func() { table.GrantOperate(nil) })
	wantRefusal(t, "grantee, table: both are required", func() { GrantTransact(f.Function, nil, TransactPut) })
	wantRefusal(t, "grantee, table: both are required", func() { GrantTransact(nil, table.Table, TransactPut) })
}

// A request that is made alone has no enclosing operation.
var onlyInTransactions any = map[string]any{"ForAnyValue:StringEquals": map[string]any{"dynamodb:EnclosingOperation": "TransactWriteItems"}}

func newAccounts(stack awscdk.Stack) awsdynamodb.TableV2 {
	return awsdynamodb.NewTableV2(stack, jsii.String("Accounts"), &awsdynamodb.TablePropsV2{PartitionKey: stringKey("id")})
}

func TestGrantTransactAllowsNothingOutsideOfTransactions(t *testing.T) {
	for want, writes := range map[string][]TransactWrite{
		"ConditionCheckItem": {TransactCheck},
		"DeleteItem":         {TransactDelete},
		"PutItem":            {TransactPut, TransactPut},
		"UpdateItem":         {TransactUpdate},
		"ConditionCheckItem DeleteItem PutItem UpdateItem": {TransactUpdate, TransactPut, TransactDelete, TransactCheck},
	} {
		stack := newStack()
		GrantTransact(newRole(stack), newAccounts(stack), writes...)
		all := granted(t, stack, want)
		check.Equal(t, all[0]["Resource"], arn("Accounts"), want)
		check.Equal(t, all[0]["Condition"], onlyInTransactions, want)
	}
}

// CDK reports success for an immutable role, and panics for a principal without a policy.
func TestGranteesThatGetNothingAreRefused(t *testing.T) {
	for words, grantee := range map[string]func(awscdk.Stack) awsiam.IGrantable{
		"its role is immutable or": func(s awscdk.Stack) awsiam.IGrantable { return immutableRole(s) },
		"is an import without its role": func(s awscdk.Stack) awsiam.IGrantable {
			return awslambda.Function_FromFunctionArn(s, jsii.String("Import"), jsii.String(functionARN))
		},
		"it gets no permissions": func(awscdk.Stack) awsiam.IGrantable {
			return awsiam.NewArnPrincipal(jsii.String("arn:aws:iam::111122223333:role/a"))
		},
	} {
		stack := newStack()
		accounts, table := newAccounts(stack), NewIdempotencyTable(stack, "Table", nil)
		wantRefusal(t, words, func() { GrantTransact(grantee(stack), accounts, TransactPut) })
		wantRefusal(t, words, func() { table.GrantExecute(grantee(newStack()), nil) })
	}
}

func TestGrantTransactRefuses(t *testing.T) {
	for words, writes := range map[string][]TransactWrite{
		"there is none": nil,
		"0 is unknown":  {0, TransactPut},
		"9 is unknown":  {TransactPut, 9},
	} {
		stack := newStack()
		accounts, role := newAccounts(stack), newRole(stack)
		refused := refusal(t, func() { GrantTransact(role, accounts, writes...) })
		check.Contains(t, refused, "S/Accounts: ", words)
		check.Contains(t, refused, words)
	}
}

// plainPolicy returns a policy with a single value in place of each list of one, which mean the
// same.
func plainPolicy(value any) any {
	switch value := value.(type) {
	case []any:
		for i, inner := range value {
			value[i] = plainPolicy(inner)
		}
		if len(value) == 1 {
			return value[0]
		}
	case map[string]any:
		for key, inner := range value {
			value[key] = plainPolicy(inner)
		}
	}
	return value
}

func importedTable(stack awscdk.Stack, arn string) *IdempotencyTable {
	return ImportIdempotencyTable(awsdynamodb.Table_FromTableAttributes(stack, jsii.String("Table"), &awsdynamodb.TableAttributes{
		EncryptionKey: customerKey(stack), TableArn: &arn,
	}), &ImportedTableProps{Resume: true})
}

// Each grant, and the policy of a function as data, is what "once policy" prints.
func TestPoliciesAreThoseOfTheCommand(t *testing.T) {
	const records = "arn:aws:dynamodb:eu-west-1:111122223333:table/records"
	once := filepath.Join(t.TempDir(), "once")
	build := exec.Command("go", "build", "-trimpath", "-o", once, "./cmd/once") // as lambdaruntime.Build does
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	grouped := &ExecuteOptions{Group: true, Operations: []string{"pay", "refund"}}
	for task, grant := range map[string]func(*IdempotencyTable, awsiam.IGrantable) awsiam.Grant{
		"--for function": execute(nil),
		"--for function --group --operation pay --operation refund": execute(grouped),
		"--for resume --operation pay": func(t *IdempotencyTable, g awsiam.IGrantable) awsiam.Grant {
			return t.GrantResume(g, &ExecuteOptions{Operations: []string{"pay"}})
		},
		"--for operator": (*IdempotencyTable).GrantOperate,
		"--for sweep":    (*IdempotencyTable).GrantSweep,
		"--for check":    (*IdempotencyTable).GrantCheck,
	} {
		t.Run(task, func(t *testing.T) {
			out, err := exec.Command(once, append([]string{"policy", "--table", records, "--key", keyHere}, strings.Fields(task)...)...).Output()
			check.Must(t, err)
			var want any
			check.Must(t, json.Unmarshal(out, &want))
			stack := newStack()
			grant(importedTable(stack, records), newRole(stack))
			check.Equal(t, plainPolicy(only(t, synth(t, stack), "AWS::IAM::Policy").Properties()["PolicyDocument"]), plainPolicy(want))
			for name, options := range map[string]*ExecuteOptions{"--for function": nil, "--for function --group --operation pay --operation refund": grouped} {
				if name == task {
					stack := newStack()
					check.Equal(t, plainPolicy(stack.Resolve(importedTable(stack, records).ExecutePolicy(options))), plainPolicy(want))
				}
			}
		})
	}
	wantRefusal(t, "Operations: the list is empty", func() { importedTable(newStack(), records).ExecutePolicy(&ExecuteOptions{Operations: []string{}}) })
	wantRefusal(t, "grantee: it is required", func() { importedTable(newStack(), records).GrantCheck(nil) })
}
