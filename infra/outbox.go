package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// OutboxProps are the props of [NewOutbox]. The zero value of every field is its default.
type OutboxProps struct {
	// Ephemeral deletes the table with its stack, as well as the logs and the failure queue
	// of its relay. The table has no deletion protection. Set it for temporary stages.
	// Default: false. The table is protected, and retained when its stack is deleted.
	Ephemeral bool

	// Key encrypts the table and its stream. The grants of this package then include the
	// use of the key. Default: a key that DynamoDB owns, free of charge.
	Key awskms.IKey
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
// NewOutbox panics with a [*PropsError] for an id that is taken.
func NewOutbox(scope constructs.Construct, id string, props *OutboxProps) *Outbox {
	p := orZero(props)
	append(refuseKey(p.Key), refuseID(scope, id, "")...).panic(scope, id)
	table := tableProps("aggregate", p.Ephemeral)
	table.DynamoStream, table.SortKey, table.TimeToLiveAttribute = awsdynamodb.StreamViewType_NEW_IMAGE, stringKey("id"), jsii.String("expiration")
	if p.Key != nil {
		table.Encryption = awsdynamodb.TableEncryptionV2_CustomerManagedKey(p.Key, nil)
	}
	return &Outbox{Table: awsdynamodb.NewTableV2(scope, &id, table), props: p}
}

// GrantPublish allows a function to write messages in its transactions: PutItem within
// TransactWriteItems. It does not pass the name of the table to the function.
func (o *Outbox) GrantPublish(grantee awsiam.IGrantable) awsiam.Grant {
	return grantOn(o.Table, grantee, inTransaction(), "dynamodb:PutItem")
}

// GrantMark allows a program to mark messages as published: UpdateItem. [NewRelay]
// grants it.
func (o *Outbox) GrantMark(grantee awsiam.IGrantable) awsiam.Grant {
	return grantOn(o.Table, grantee, nil, "dynamodb:UpdateItem")
}

// GrantOperate allows an operator, or an operator's tool, to find and mark messages that no
// relay has published: Scan and UpdateItem. Do not grant it to functions.
func (o *Outbox) GrantOperate(grantee awsiam.IGrantable) awsiam.Grant {
	return grantOn(o.Table, grantee, nil, "dynamodb:Scan", "dynamodb:UpdateItem")
}

// RelayProps are the props of [NewRelay]. Code and Outbox are required; the zero value of
// every other field is its default. Code, Configure and Key mean the same as in
// [IdempotentFunctionProps].
type RelayProps struct {
	// Code is the path of a zip or a folder with an executable "bootstrap" for arm64.
	Code string

	// Configure changes the props of CDK before the function is created. The timeout is 30 s.
	// Default: none.
	Configure func(*awslambda.FunctionProps)

	// Environment adds variables to OUTBOX_TABLE and AWS_LAMBDA_LOG_LEVEL. Default: none.
	Environment map[string]string

	// Key encrypts the logs and the failure queue. Default: keys of AWS.
	Key awskms.IKey

	// Outbox is the outbox that the function publishes.
	Outbox *Outbox
}

// A Relay is a function that publishes the messages of an outbox. Create one with
// [NewRelay].
type Relay struct {
	Function awslambda.Function

	// Failures receives the stream positions of the messages that Lambda has
	// given up. The messages stay in the outbox, unmarked. Publishing them by
	// hand needs [Outbox.GrantOperate]. The queue is retained when its stack is
	// deleted, unless the outbox is Ephemeral.
	Failures awssqs.Queue

	maxAge time.Duration
	scope  constructs.Construct
}

// NewRelay creates the function of relay.Outbox. It feeds the function with
// the unpublished items of the outbox's stream, allows it to mark items, and sets
// OUTBOX_TABLE to the table's name. The function has no access to records, and you
// must grant it the permission to publish.
//
// One batch of a shard runs at a time. With more, Lambda keeps only the order of
// the writes to one item, and an aggregate has many items. A batch is retried until its items are
// 12 h old, because an outage of the destination outlasts a few retries. It blocks its shard until
// then, because later items must not overtake it. Lambda then gives it up: after the 24 h of the
// stream the items would be gone, and would never reach Failures.
//
// NewRelay panics with a [*PropsError] for props that cannot work.
func NewRelay(scope constructs.Construct, id string, props *RelayProps) *Relay {
	p := orZero(props)
	program := &IdempotentFunctionProps{Code: p.Code, Configure: p.Configure, Environment: p.Environment, Key: p.Key, Timeout: 30 * time.Second}
	found := append(program.refuseProgram(), program.refuseFacts()...)
	found.when(p.Outbox == nil || p.Outbox.Table == nil, "Outbox: it is required, made with NewOutbox")
	append(found, refuseID(scope, id, "")...).panic(scope, id)
	own := constructs.NewConstruct(scope, &id)
	function := program.deploy(own, p.Outbox.props.Ephemeral, map[string]*string{"OUTBOX_TABLE": p.Outbox.Table.TableName()})
	p.Outbox.GrantMark(function)
	failures := newLastQueue(own, failuresID, p.Outbox.props.Ephemeral, &awssqs.QueueProps{EncryptionMasterKey: p.Key, RetentionPeriod: seconds(maxKept)})
	source := tableSource(&StreamProps{BatchSize: 100, MaxAge: maxStreamAge}, 10000, failures)
	// A repeated call overwrites its item, which is published again. Marks
	// and expiry are writes too, but are not published.
	source.Filters = &[]*map[string]any{awslambda.FilterCriteria_Filter(&map[string]any{
		"eventName": awslambda.FilterRule_Or(jsii.String("INSERT"), jsii.String("MODIFY")),
		"dynamodb": map[string]any{"NewImage": map[string]any{
			"published": map[string]any{"N": awslambda.FilterRule_NotExists()}, // "exists" applies only to a leaf
		}},
	})}
	function.AddEventSource(awslambdaeventsources.NewDynamoEventSource(p.Outbox.Table, source))
	return &Relay{Function: function, Failures: failures, maxAge: maxStreamAge, scope: own}
}
