package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/fault"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/outboxitem"
)

// OutboxClient is the part of DynamoDB that an [Outbox] calls. A
// *dynamodb.Client is one.
type OutboxClient interface {
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Outbox is the other end of [Tx.Publish], for who publishes the messages from
// the table's stream. It is safe for concurrent use. Make one with
// [NewOutbox].
//
// An item holds the messages of one aggregate in one transaction, in order. It
// has the partition key "aggregate" and the sort key "id", both of type S, and
//
//	created     N  epoch milliseconds of the transaction
//	messages    L  of M: id S, destination S, type S, body B, attributes M of S
//	               (absent when empty)
//	published   N  epoch milliseconds; absent until it is published
//	expiration  N  epoch seconds; absent until then, the table's TTL attribute
//
// The id of a message is the same in every run of one call: where one is
// published twice, its readers can tell by it. A call that is made once more
// after its retention, or without its record, writes the same item again, with
// another created, so that what is to be published is every INSERT, and every
// MODIFY whose new image has no published.
type Outbox struct {
	client OutboxClient
	table  string
	keep   time.Duration
}

// OutboxOptions are the options of [NewOutbox]. The zero value of every field
// is its default.
type OutboxOptions struct {
	// Retention is how long an item stays after it was published.
	//
	// Default: 24 hours.
	Retention time.Duration
}

// NewOutbox makes an Outbox of a table, which may be given by its name or ARN.
// It sends nothing.
func NewOutbox(client OutboxClient, table string, options *OutboxOptions) (*Outbox, error) {
	if client == nil {
		return nil, &OptionsError{Reason: "the client is nil"}
	}
	if table == "" {
		return nil, &OptionsError{Reason: "the name of the outbox is empty"}
	}
	o := OutboxOptions{}
	if options != nil {
		o = *options
	}
	switch {
	case o.Retention == 0:
		o.Retention = 24 * time.Hour
	case o.Retention < 0:
		return nil, &OptionsError{Reason: fmt.Sprintf("OutboxOptions.Retention is %v; it must not be negative", o.Retention)}
	}
	return &Outbox{client: client, table: table, keep: o.Retention}, nil
}

// ErrNotInOutbox says that an item to be marked is not there, or is a later one.
var ErrNotInOutbox = errors.New("dynamo: no such item in the outbox")

// Mark says that all messages of an item are published, so that it can expire.
// Marking again moves its end. created is the item's, to the millisecond: what
// has been written over it has messages of its own, and their own event in the
// stream.
//
// It wraps [ErrNotInOutbox] where there is no such item: it was marked before and
// has expired since, or was written anew since. Nothing is lost by either.
func (o *Outbox) Mark(ctx context.Context, aggregate, id string, created time.Time) error {
	now := time.Now()
	update, condition := "SET #published = :published, #expiration = :expiration", "attribute_exists(#id) AND #created = :created"
	_, err := o.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		ConditionExpression: &condition,
		ExpressionAttributeNames: map[string]string{
			"#created": outboxitem.Created, "#expiration": outboxitem.Expiration, "#id": outboxitem.ID, "#published": outboxitem.Published,
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":created": millis(created), ":expiration": seconds(now.Add(o.keep)), ":published": millis(now),
		},
		Key:              map[string]types.AttributeValue{outboxitem.Aggregate: text(aggregate), outboxitem.ID: text(id)},
		TableName:        &o.table,
		UpdateExpression: &update,
	}, quiet)
	if fault.ConditionFailed(err) {
		return &Error{Op: "UpdateItem", Table: o.table, Err: errors.Join(ErrNotInOutbox, err),
			Advice: "it was marked before and has expired since, or was written anew since, which is published by its own event; or it is another table's"}
	}
	if err != nil {
		return o.fail("UpdateItem", err)
	}
	return nil
}

func (o *Outbox) fail(op string, err error) error {
	l := outboxLayout()
	failed := &Error{Op: op, Table: o.table, Err: err, Advice: l.advice(err)}
	switch code, _ := fault.Code(err); {
	case code == "AccessDeniedException" || code == "AccessDenied":
		failed.Advice = "access denied; grant the role dynamodb:" + op + " on the outbox, and the use of its KMS key if it has one"
	case errors.Is(failed, driver.ErrThrottled):
		failed.Advice = "throttled; raise the capacity of the outbox or use on-demand"
	}
	return failed
}
