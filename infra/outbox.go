package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// OutboxProps are the props of [NewOutbox]. The zero value of every field is
// its default.
type OutboxProps struct {
	// Ephemeral deletes the table with its stack, as well as the logs and the
	// failure queue of its relay. The table has no deletion protection. Set it for
	// temporary stages. Default: false. The table is protected, and retained when
	// its stack is deleted.
	Ephemeral bool

	// Key encrypts the table and its stream. The grants of this package then
	// include the use of the key. Default: a key that DynamoDB owns, free of
	// charge.
	Key awskms.IKey

	// TableName is the name of the table. Default: CloudFormation generates one.
	TableName string
}

// An Outbox is a table of messages to publish, Options.Outbox of package dynamo.
// Create one with [NewOutbox], and publish its messages with a [Relay].
type Outbox struct {
	Table awsdynamodb.TableV2

	props OutboxProps
}

// NewOutbox creates the table of an outbox. It is billed on demand, with a stream,
// time to live for published items, and point-in-time recovery. If props is nil,
// all defaults apply.
//
// The stream contains the items of an aggregate in the order of their commits, as
// long as they are in one partition of DynamoDB. DynamoDB may split an aggregate
// that is very hot for a long time. It guarantees order only for each item.
//
// NewOutbox panics with a [*PropsError] for an invalid name, and for an id that is
// taken.
func NewOutbox(scope constructs.Construct, id string, props *OutboxProps) *Outbox {
	p := orZero(props)
	append(refuseTableName(p.TableName), refuseID(scope, id, "")...).panic(scope, id)
	table := tableProps(p.TableName, "aggregate", p.Ephemeral)
	table.DynamoStream, table.SortKey, table.TimeToLiveAttribute = awsdynamodb.StreamViewType_NEW_IMAGE, stringKey("id"), jsii.String("expiration")
	if p.Key != nil {
		table.Encryption = awsdynamodb.TableEncryptionV2_CustomerManagedKey(p.Key, nil)
	}
	return &Outbox{Table: awsdynamodb.NewTableV2(scope, &id, table), props: p}
}

// GrantPublish allows a function to write messages in its transactions: PutItem
// within TransactWriteItems. It does not pass the name of the table to the
// function.
func (o *Outbox) GrantPublish(grantee awsiam.IGrantable) awsiam.Grant {
	return grantOn(o.Table, grantee, inTransaction(), "dynamodb:PutItem")
}

// GrantMark allows a program to mark messages as published: UpdateItem. [NewRelay]
// grants it.
func (o *Outbox) GrantMark(grantee awsiam.IGrantable) awsiam.Grant {
	return grantOn(o.Table, grantee, nil, "dynamodb:UpdateItem")
}

// GrantOperate allows an operator, or an operator's tool, to find and mark
// messages that no relay has published: Scan and UpdateItem. Do not grant it to
// functions.
func (o *Outbox) GrantOperate(grantee awsiam.IGrantable) awsiam.Grant {
	return grantOn(o.Table, grantee, nil, "dynamodb:Scan", "dynamodb:UpdateItem")
}
