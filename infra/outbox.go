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
	// Ephemeral is for stages that come and go: the table has no deletion
	// protection and is deleted with its stack, as are the logs and the failure
	// queue of its relay.
	//
	// Default: false. The table is protected, and stays when its stack goes.
	Ephemeral bool

	// Key encrypts the table and its stream. Grants of this package then allow
	// what the table needs of it.
	//
	// Default: a key that DynamoDB owns, free of charge.
	Key awskms.IKey

	// TableName is the name of the table.
	//
	// Default: CloudFormation makes one.
	TableName string
}

// Outbox is a table of messages that are to be published, Options.Outbox of
// package dynamo. Make one with [NewOutbox], and publish with a [Relay].
type Outbox struct {
	Table awsdynamodb.TableV2

	props OutboxProps
}

// NewOutbox makes the table of an outbox: billed on demand, with a stream of
// what is written, time to live for what is published, and point-in-time
// recovery. Nil props are all defaults.
//
// Its stream has the items of an aggregate in the order of their commits as
// long as one partition of DynamoDB holds them. It splits an aggregate that is
// very hot for long, and promises order by item alone.
//
// It panics with a [*PropsError] for a name that no table can have, and for an
// id that is taken.
func NewOutbox(scope constructs.Construct, id string, props *OutboxProps) *Outbox {
	if props == nil {
		props = &OutboxProps{}
	}
	p := *props
	append(refuseTableName(p.TableName), refuseID(scope, id, "")...).panic(scope, id)
	protected := !p.Ephemeral
	table := &awsdynamodb.TablePropsV2{
		Billing:            awsdynamodb.Billing_OnDemand(nil),
		DeletionProtection: &protected,
		DynamoStream:       awsdynamodb.StreamViewType_NEW_IMAGE,
		PartitionKey:       stringKey("aggregate"),
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(true),
		},
		RemovalPolicy:       removalPolicy(p.Ephemeral),
		SortKey:             stringKey("id"),
		TimeToLiveAttribute: jsii.String("expiration"),
	}
	if p.Key != nil {
		table.Encryption = awsdynamodb.TableEncryptionV2_CustomerManagedKey(p.Key, nil)
	}
	if p.TableName != "" {
		table.TableName = &p.TableName
	}
	return &Outbox{Table: awsdynamodb.NewTableV2(scope, &id, table), props: p}
}

// GrantPublish allows a function to write messages in its transactions:
// PutItem. The table's name is yours to hand over.
func (o *Outbox) GrantPublish(grantee awsiam.IGrantable) awsiam.Grant {
	return grantOn(o.Table, grantee, "dynamodb:PutItem")
}

// GrantMark allows a program to mark messages as published: UpdateItem. A
// [Relay] has it.
func (o *Outbox) GrantMark(grantee awsiam.IGrantable) awsiam.Grant {
	return grantOn(o.Table, grantee, "dynamodb:UpdateItem")
}

// GrantOperate allows a person, or the tool of one, to find messages that no
// relay has published, and to mark them: Scan and UpdateItem. It is not for
// functions.
func (o *Outbox) GrantOperate(grantee awsiam.IGrantable) awsiam.Grant {
	return grantOn(o.Table, grantee, "dynamodb:Scan", "dynamodb:UpdateItem")
}
