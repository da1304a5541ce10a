package infra

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

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
		"--for resume":   func(t *IdempotencyTable, g awsiam.IGrantable) awsiam.Grant { return t.GrantResume(g, nil) },
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
