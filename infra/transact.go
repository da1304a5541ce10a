package infra

import (
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
)

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
func inTransaction() *conditions {
	return &conditions{"ForAnyValue:StringEquals": {"dynamodb:EnclosingOperation": "TransactWriteItems"}}
}

// grantOn allows actions on a table in one Region, and the use of its key.
func grantOn(table awsdynamodb.ITable, grantee awsiam.IGrantable, when *conditions, actions ...string) awsiam.Grant {
	grant := allow(grantee, []*string{table.TableArn()}, when, actions...)
	key := table.EncryptionKey()
	if key == nil {
		return grant
	}
	return grant.Combine(grantKeys(grantee, []*string{key.KeyArn()}, []string{viaDynamoDB(*awscdk.Stack_Of(table).Region())}))
}
