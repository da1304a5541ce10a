// Package policy has the permissions that functions, operators and checks need on a table of
// records, as statements of IAM.
package policy

import (
	"strings"

	"github.com/lambda-once/once/internal/checked"
)

// A Document is a policy in the JSON of IAM.
type Document struct {
	Version   string
	Statement []Statement
}

// A Statement allows actions on resources.
type Statement struct {
	Effect    string
	Action    []string
	Resource  string
	Condition map[string]map[string]any `json:",omitempty"`
}

// A Table is a table of records in DynamoDB.
type Table struct {
	ARN string
	Key string // ARN of its customer managed key, or empty
}

// Actions of a function on the records, those of group commit besides, and on the key of the
// table.
var (
	Execute = []string{"dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}
	Group   = []string{"dynamodb:BatchGetItem", "dynamodb:PartiQLDelete", "dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate"}
	Key     = []string{
		"kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext",
		"kms:ReEncryptFrom", "kms:ReEncryptTo",
	}
)

// Service returns the value of kms:ViaService for a table.
func Service(table string) string {
	region := ""
	if parts := strings.Split(table, ":"); len(parts) > 3 {
		region = parts[3]
	}
	return "dynamodb." + region + ".amazonaws.com"
}

// ForFunction returns the policy of a function: the calls of the store on the records of these
// operations, or on all records if there are none.
func ForFunction(t Table, operations []string, group bool) Document {
	actions := Execute
	if group {
		actions = append(actions[:len(actions):len(actions)], Group...)
	}
	return t.document(Statement{Action: actions, Condition: ofOperations(operations)})
}

// ForResume returns the policy of a function of handlers.Resume: that of a function, and a scan
// of the index of the table, which has keys and leases alone.
func ForResume(t Table, operations []string, group bool) Document {
	d := ForFunction(t, operations, group)
	return Document{d.Version, append(d.Statement, Statement{Effect: "Allow", Action: []string{"dynamodb:Scan"}, Resource: t.ARN + "/index/lapsed"})}
}

// ForOperator returns the policy of a person who lists, releases and resolves records.
func ForOperator(t Table) Document {
	return t.document(Statement{Action: []string{"dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:Scan", "dynamodb:UpdateItem"}})
}

// ForSweep returns the policy of a program that deletes expired records.
func ForSweep(t Table) Document {
	return t.document(Statement{Action: []string{"dynamodb:DeleteItem", "dynamodb:Scan"}})
}

// ForCheck returns the policy of "once check --function". It writes the record of its own call
// alone, which it cannot in a table with a sort key: that has the same partition key for all.
// Lambda restricts none of its lists to a function, and the queues are known only when they
// were listed.
func ForCheck(t Table) Document {
	call := t.document(Statement{Action: Execute, Condition: leadingKeys("*#" + checked.Name + "*")})
	settings := Statement{
		Effect: "Allow", Resource: t.ARN, Action: []string{"dynamodb:DescribeContinuousBackups", "dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive"},
	}
	return Document{call.Version, append(append([]Statement{settings}, call.Statement...), Statement{
		Effect: "Allow", Resource: "*",
		Action: []string{
			"iam:SimulatePrincipalPolicy", "lambda:GetFunctionConfiguration", "lambda:GetFunctionEventInvokeConfig", "lambda:GetPolicy",
			"lambda:ListEventSourceMappings", "sqs:GetQueueAttributes", "sqs:GetQueueUrl",
		},
	})}
}

// document returns a policy with a statement on the records, and the use of the table's key
// through DynamoDB.
func (t Table) document(records Statement) Document {
	records.Effect, records.Resource = "Allow", t.ARN
	d := Document{"2012-10-17", []Statement{records}}
	if t.Key == "" {
		return d
	}
	return Document{d.Version, append(d.Statement, Statement{
		Effect: "Allow", Resource: t.Key, Action: Key,
		Condition: map[string]map[string]any{"StringEquals": {"kms:ViaService": Service(t.ARN)}},
	})}
}

func ofOperations(operations []string) map[string]map[string]any {
	if len(operations) == 0 {
		return nil
	}
	var prefixes []string
	for _, operation := range operations {
		prefixes = append(prefixes, operation+"#*")
	}
	return leadingKeys(prefixes...)
}

// leadingKeys returns two conditions. ForAllValues alone is true for a request without any
// leading key, such as a Scan.
func leadingKeys(patterns ...string) map[string]map[string]any {
	return map[string]map[string]any{
		"ForAllValues:StringLike": {"dynamodb:LeadingKeys": patterns},
		"Null":                    {"dynamodb:LeadingKeys": "false"},
	}
}
