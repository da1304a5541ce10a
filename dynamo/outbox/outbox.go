// Package outbox reads and marks the messages that transactions publish with
// [dynamo.Tx.Publish]. A relay is built on it, such as relay.Outbox with
// [Outbox.MarkAll], and the search for messages that no relay has published.
//
// # Items
//
// An item holds the messages of one aggregate in one transaction, in order. It
// has the partition key "aggregate" and the sort key "id", both of type S, and
//
//	created     N  epoch milliseconds of the transaction
//	messages    L  of M: id S, destination S, type S, body B, attributes M of S
//	               (absent when empty)
//	published   N  epoch milliseconds; absent until the item is marked
//	expiration  N  epoch seconds; absent until then, the table's TTL attribute
//	again       N  epoch milliseconds of the last [Outbox.PublishAgain], if any
//
// The id of a message is the same however often the message is published, so that
// a reader recognizes it. It is derived from the attempt that was committed. A key
// that runs once more after its retention, or without its record, publishes new
// messages, and overwrites none. A relay publishes every INSERT, and every MODIFY
// whose new image has no attribute published.
package outbox

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/internal/fault"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/outboxitem"
)

// Client is the part of DynamoDB that an [Outbox] calls. *dynamodb.Client
// implements it.
type Client interface {
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Outbox is a table of messages. It is safe for concurrent use. Make one with
// [New].
type Outbox struct {
	client    Client
	table     string
	retention time.Duration
}

// Options are the options of [New]. The zero value of every field is its
// default.
type Options struct {
	// Retention is how long an item stays after it is marked.
	//
	// Default: 24 hours.
	Retention time.Duration
}

// New returns the outbox in a table, which is given by its name or ARN. New
// sends nothing. It returns a [*driver.ConfigError] for arguments that are not
// valid.
func New(client Client, table string, options *Options) (*Outbox, error) {
	o := *cmp.Or(options, &Options{})
	var mistakes driver.Mistakes
	mistakes.If(client == nil, "outbox: the client is nil")
	mistakes.If(table == "", "outbox: the name of the table is empty")
	mistakes.If(o.Retention < 0, "outbox: Options.Retention is %v; it must not be negative", o.Retention)
	mistakes.Unit("outbox: Options.Retention", o.Retention)
	if err := mistakes.Err(); err != nil {
		return nil, err
	}
	o.Retention = cmp.Or(o.Retention, 24*time.Hour)
	return &Outbox{client: client, table: table, retention: o.Retention}, nil
}

// ErrNotFound reports that there is no item to be marked, or a later one.
var ErrNotFound = errors.New("outbox: item not found")

// Mark marks an item as published, so that it expires. Call it when all
// messages of the item are published. created is the item's creation time, to
// the millisecond. Marking again extends the item's retention.
//
// Mark returns a [*dynamo.Error] that wraps [ErrNotFound] if there is no such
// item: it has expired since it was marked, or it was rewritten. Nothing is lost
// in either case. A rewritten item has messages of its own, and its own event in
// the stream.
func (o *Outbox) Mark(ctx context.Context, aggregate, id string, created time.Time) error {
	now := time.Now()
	return o.update(ctx, aggregate, id, created, &dynamodb.UpdateItemInput{
		ConditionExpression: aws.String("attribute_exists(#id) AND #created = :created"),
		ExpressionAttributeNames: map[string]string{
			"#created": outboxitem.Created, "#expiration": outboxitem.Expiration, "#id": outboxitem.ID, "#published": outboxitem.Published,
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":expiration": attribute.Seconds(now.Add(o.retention)), ":published": attribute.Millis(now),
		},
		UpdateExpression: aws.String("SET #published = :published, #expiration = :expiration"),
	}, "it has expired since it was marked, or it was rewritten, and the stream has an event for that; or it is another table's")
}

// update updates an item whose condition compares :created. If the condition does not hold, the
// error is [ErrNotFound] with the advice gone.
func (o *Outbox) update(ctx context.Context, aggregate, id string, created time.Time, in *dynamodb.UpdateItemInput, gone string) error {
	in.TableName, in.Key = &o.table, map[string]types.AttributeValue{outboxitem.Aggregate: attribute.Text(aggregate), outboxitem.ID: attribute.Text(id)}
	in.ExpressionAttributeValues[":created"] = attribute.Millis(created)
	_, err := o.client.UpdateItem(ctx, in, quiet)
	switch {
	case fault.ConditionFailed(err) != nil:
		return &dynamo.Error{Op: "UpdateItem", Table: o.table, Err: errors.Join(ErrNotFound, err), Advice: gone}
	case err != nil:
		return o.fail("UpdateItem", err)
	}
	return nil
}

// MarkAll marks items as published, one after the other. It is the Mark of
// relay.Options. An item that is missing is no error: it was marked before, or it was
// rewritten, and has an event of its own. If an item cannot be marked, MarkAll marks the
// others, and returns the first error, which is a [*dynamo.Error].
func (o *Outbox) MarkAll(ctx context.Context, items []driver.OutboxKey) (failed error) {
	for _, i := range items {
		if err := o.Mark(ctx, i.Aggregate, i.ID, i.Created); failed == nil && !errors.Is(err, ErrNotFound) {
			failed = err
		}
	}
	return failed
}

func (o *Outbox) fail(op string, err error) error {
	failed := &dynamo.Error{Op: op, Table: o.table, Err: err, Advice: fault.Advice(err, outboxitem.Aggregate, outboxitem.ID)}
	switch {
	case fault.Denied(err):
		failed.Advice = "access denied; grant the role dynamodb:" + op + " on the outbox, and the use of its KMS key if it has one"
	case errors.Is(failed, driver.ErrThrottled):
		failed.Advice = "throttled; raise the capacity of the outbox or use on-demand"
	}
	return failed
}

// quiet turns the SDK's response checksums off: see package dynamo.
func quiet(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true }
