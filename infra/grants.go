package infra

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// ExecuteOptions are the options of [IdempotencyTable.GrantExecute]. The zero
// value of every field is its default.
type ExecuteOptions struct {
	// Group allows the additional calls of a store with dynamo.Options.Group:
	// BatchGetItem, PartiQLDelete, PartiQLInsert and PartiQLUpdate. Without these
	// permissions, such a store reports the denial once and sends each write in a
	// request of its own. Operations restricts these calls as well. Default: false.
	Group bool

	// Operations restricts the function to the records of these operations, by a
	// condition on the partition key. It excludes keys with Key.Record, and tables
	// with a SortKey, whose partition key does not contain the operation. Default:
	// nil, all records of the table. An empty list is refused.
	Operations []string

	// Transactions states that handlers complete in transactions. It allows nothing
	// more, because the write of the record is a PutItem or an UpdateItem.
	// [GrantTransact] allows a handler's other writes. A Strong table has no
	// transactions and is refused here, not at the first call. Default: false.
	Transactions bool
}

// GrantExecute allows a function the calls of the store on this table and its
// replicas, and nothing else. If options is nil, all defaults apply.
//
// GrantExecute panics with a [*PropsError] if the options cannot work with the table.
func (t *IdempotencyTable) GrantExecute(grantee awsiam.IGrantable, options *ExecuteOptions) awsiam.Grant {
	return t.grant(grantee, t.execute(options))
}

// ExecutePolicy returns the permissions of GrantExecute as a policy, for a role that is made
// elsewhere. The command "once policy" prints the same without CDK.
//
// ExecutePolicy panics with a [*PropsError] as GrantExecute does.
func (t *IdempotencyTable) ExecutePolicy(options *ExecuteOptions) awsiam.PolicyDocument {
	document := awsiam.NewPolicyDocument(nil)
	for _, s := range t.withKey(t.execute(options)) {
		allowed := awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings(s.actions...), Resources: &s.on})
		for operator, keys := range s.when {
			allowed.AddCondition(&operator, *keys)
		}
		document.AddStatements(allowed)
	}
	return document
}

// execute returns the statement on the records of a function.
func (t *IdempotencyTable) execute(options *ExecuteOptions) statement {
	o := orZero(options)
	t.refuseExecute(o).panic(t.Table, "")
	actions := []string{"dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}
	if o.Group {
		actions = append(actions, "dynamodb:BatchGetItem", "dynamodb:PartiQLDelete", "dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate")
	}
	return statement{t.arns, actions, ofOperations(o.Operations)}
}

// GrantResume allows a function of handlers.Resume what GrantExecute does, and to scan the index
// of a table with Resume. [NewResume] grants it.
//
// GrantResume panics with a [*PropsError] if the table has no index.
func (t *IdempotencyTable) GrantResume(grantee awsiam.IGrantable, options *ExecuteOptions) awsiam.Grant {
	t.refuseResume().panic(t.Table, "")
	var indexes []*string
	for _, arn := range t.arns {
		indexes = append(indexes, jsii.String(*arn+"/index/"+lapsedIndex))
	}
	return t.GrantExecute(grantee, options).Combine(allow(grantee, indexes, nil, "dynamodb:Scan"))
}

// GrantCheck allows a person or a pipeline to run "once check --function": to read the
// settings of the table, and those of functions, of their sources and of roles, and to write the
// record of its own call. Lambda restricts none of its lists to a function, and in a table with a
// SortKey IAM cannot distinguish that record: the check needs --read-only there.
func (t *IdempotencyTable) GrantCheck(grantee awsiam.IGrantable) awsiam.Grant {
	t.refuseGrant(grantee).panic(t.Table, "")
	table := allow(grantee, t.arns, nil, "dynamodb:DescribeContinuousBackups", "dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive")
	execute := []string{"dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}
	call := t.grant(grantee, statement{t.arns, execute, leadingKeys("*#once-check-*")})
	return table.Combine(call).Combine(allow(grantee, []*string{jsii.String("*")}, nil,
		"iam:SimulatePrincipalPolicy", "lambda:GetFunctionConfiguration", "lambda:GetFunctionEventInvokeConfig", "lambda:GetPolicy",
		"lambda:ListEventSourceMappings", "sqs:GetQueueAttributes", "sqs:GetQueueUrl"))
}

// GrantOperate allows an operator, or an operator's tool, to list, release and resolve
// records: GetItem, Scan, UpdateItem and DeleteItem. Do not grant it to functions.
func (t *IdempotencyTable) GrantOperate(grantee awsiam.IGrantable) awsiam.Grant {
	return t.grant(grantee, statement{t.arns, []string{"dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:Scan", "dynamodb:UpdateItem"}, nil})
}

// GrantSweep allows a program to delete the expired records of a table with
// SweptElsewhere: Scan and DeleteItem. Each delete must have the condition that
// the record is still expired, or it races with a claim.
func (t *IdempotencyTable) GrantSweep(grantee awsiam.IGrantable) awsiam.Grant {
	return t.grant(grantee, statement{t.arns, []string{"dynamodb:DeleteItem", "dynamodb:Scan"}, nil})
}

func (t *IdempotencyTable) refuseResume() (found problems) {
	found.when(t.Table != nil && !t.props.Resume, "Table: it has no index of leases, and each round would read the whole table; set its prop Resume")
	return found
}

const noTable = "Table: it is a literal; make it with NewIdempotencyTable or ImportIdempotencyTable"

func (t *IdempotencyTable) refuseExecute(o ExecuteOptions) (found problems) {
	found.when(t.Table == nil, noTable)
	found.when(o.Transactions && t.props.Strong,
		"Transactions: DynamoDB has no transactions on a table with strong consistency across Regions")
	found.when(o.Operations != nil && len(o.Operations) == 0,
		"Operations: the list is empty, which would allow nothing; nil allows all records")
	found.when(len(o.Operations) > 0 && t.sortKey != "",
		"Operations: the partition key of a table with a SortKey does not contain the operation, so that IAM cannot distinguish operations")
	for _, operation := range o.Operations {
		found.when(operation == "" || strings.ContainsAny(operation, "*?$#"),
			"Operations: %q is empty, or contains one of *?$#, which have a special meaning in IAM or in the ID of a record", operation)
	}
	return found
}

type conditions = map[string]*map[string]any

func ofOperations(operations []string) conditions {
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
// leading key, such as a Scan. Both apply to the calls of Group: the Service Authorization
// Reference of AWS lists dynamodb:LeadingKeys among the condition keys of BatchGetItem and of
// the PartiQL actions. If IAM found no key in a statement, the second would refuse it.
func leadingKeys(patterns ...string) conditions {
	return conditions{
		"ForAllValues:StringLike": {"dynamodb:LeadingKeys": patterns},
		"Null":                    {"dynamodb:LeadingKeys": "false"},
	}
}

// A statement allows actions on resources. A nil condition always holds.
type statement struct {
	on      []*string
	actions []string
	when    conditions
}

func (t *IdempotencyTable) grant(grantee awsiam.IGrantable, records statement) awsiam.Grant {
	t.refuseGrant(grantee).panic(t.Table, "")
	grant := allow(grantee, records.on, records.when, records.actions...)
	for _, s := range t.withKey(records)[1:] {
		grant = grant.Combine(allow(grantee, s.on, s.when, s.actions...))
	}
	return grant
}

func (t *IdempotencyTable) refuseGrant(grantee awsiam.IGrantable) (found problems) {
	found.when(t.Table == nil, noTable)
	found.when(grantee == nil, "grantee: it is required")
	return found
}

// withKey returns a statement on the records, and one on the table's keys if it has them. CDK's
// own grants on a TableV2 omit the keys of its replicas, and the first call of the function would
// fail.
func (t *IdempotencyTable) withKey(records statement) []statement {
	if t.props.Key == nil {
		return []statement{records}
	}
	keys := []*string{t.props.Key.KeyArn()}
	services := []string{viaDynamoDB(*awscdk.Stack_Of(t.Table).Region())}
	for _, r := range t.props.Replicas {
		keys = append(keys, &r.KeyARN)
		services = append(services, viaDynamoDB(r.Region))
	}
	use := []string{
		"kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext",
		"kms:ReEncryptFrom", "kms:ReEncryptTo",
	}
	return []statement{records, {keys, use, conditions{"StringEquals": {"kms:ViaService": services}}}} // through DynamoDB alone
}

// allow allows actions on resources. A nil condition always holds.
func allow(grantee awsiam.IGrantable, on []*string, when conditions, actions ...string) awsiam.Grant {
	return effective(grantee, awsiam.Grant_AddToPrincipal(&awsiam.GrantOnPrincipalOptions{
		Actions: jsii.Strings(actions...), Conditions: &when, Grantee: grantee, ResourceArns: &on,
	}))
}

// effective refuses a grantee that got no permissions. CDK reports success for an immutable
// role and for an import without one. A role that takes statements has children.
func effective(grantee awsiam.IGrantable, grant awsiam.Grant) awsiam.Grant {
	var found problems
	role, isConstruct := grantee.GrantPrincipal().(constructs.IConstruct)
	found.when(!*grant.Success() || !isConstruct || len(*role.Node().Children()) == 0,
		"grantee: it gets no permissions, because it is an import without its role, or its role is immutable or of a different account; import it with a role, and a role without Mutable false")
	found.panic(role, "grantee")
	return grant
}

func viaDynamoDB(region string) string { return fmt.Sprintf("dynamodb.%s.amazonaws.com", region) }

// A TransactWrite is a kind of write in a transaction of package dynamo.
type TransactWrite uint8

// The methods of dynamo.Tx. The condition of a Put, an Update or a Delete needs no
// further permission.
const (
	TransactCheck TransactWrite = iota + 1
	TransactDelete
	TransactPut
	TransactUpdate
)

// GrantTransact allows a function these writes to a table of yours within
// TransactWriteItems, and the use of the table's key. The same writes outside a
// transaction stay denied; a function that makes them needs a grant of its own.
// For messages, use [Outbox.GrantPublish] instead.
//
// GrantTransact panics with a [*PropsError] for unknown writes or none, and if
// grantee or table is nil.
func GrantTransact(grantee awsiam.IGrantable, table awsdynamodb.ITable, writes ...TransactWrite) awsiam.Grant {
	var found problems
	if grantee == nil || table == nil {
		panic(&PropsError{Construct: "GrantTransact", Problems: []string{"grantee, table: both are required"}})
	}
	found.when(len(writes) == 0, "TransactWrite: there is none, which would allow nothing")
	names := map[TransactWrite]string{
		TransactCheck: "ConditionCheckItem", TransactDelete: "DeleteItem", TransactPut: "PutItem", TransactUpdate: "UpdateItem",
	}
	var actions []string
	for _, write := range writes {
		name, known := names[write]
		found.when(!known, "TransactWrite: %d is unknown", write)
		actions = append(actions, "dynamodb:"+name)
	}
	found.panic(table, "")
	slices.Sort(actions)
	return grantOn(table, grantee, inTransaction(), slices.Compact(actions)...)
}

// inTransaction returns the condition that an action is part of
// TransactWriteItems. It does not hold for a request that is made alone, because
// such a request lacks the key. It is the condition of "Using IAM with DynamoDB
// transactions" in the developer guide of DynamoDB, without the reads.
func inTransaction() conditions {
	return conditions{"ForAnyValue:StringEquals": {"dynamodb:EnclosingOperation": "TransactWriteItems"}}
}

// grantOn allows actions on a table in one Region, and the use of its key. It also refuses nil.
func grantOn(table awsdynamodb.ITable, grantee awsiam.IGrantable, when conditions, actions ...string) awsiam.Grant {
	t := ImportIdempotencyTable(table, nil)
	return t.grant(grantee, statement{t.arns, actions, when})
}
