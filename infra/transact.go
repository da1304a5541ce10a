package infra

import (
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
)

// TransactWrite is what a transaction of package dynamo does with items of a
// table.
type TransactWrite uint8

// The methods of dynamo.Tx. A condition of a Put, an Update or a Delete needs
// nothing more.
const (
	TransactCheck TransactWrite = iota + 1
	TransactDelete
	TransactPut
	TransactUpdate
)

// GrantTransact allows a function to write to a table of yours in its
// transactions, and what the table needs of its key: nothing but the actions
// of these writes. They allow the same writes outside of a transaction too,
// which IAM does not tell apart. Messages need [Outbox.GrantPublish] instead.
//
// It panics with a [*PropsError] for writes that it does not know, for none, and
// without a grantee or a table.
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
	return grantOn(table, grantee, slices.Compact(actions)...)
}

// grantOn is for tables in one Region.
func grantOn(table awsdynamodb.ITable, grantee awsiam.IGrantable, actions ...string) awsiam.Grant {
	grant := awsiam.Grant_AddToPrincipal(&awsiam.GrantOnPrincipalOptions{
		Actions: pointers(actions), Grantee: grantee, ResourceArns: &[]*string{table.TableArn()},
	})
	grant.AssertSuccess()
	key := table.EncryptionKey()
	if key == nil {
		return grant
	}
	return grant.Combine(grantKeys(grantee, []*string{key.KeyArn()}, []string{viaDynamoDB(*awscdk.Stack_Of(table).Region())}))
}
