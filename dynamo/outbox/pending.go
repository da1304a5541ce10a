package outbox

import (
	"context"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/outboxitem"
)

// Item holds the messages of one transaction for one aggregate.
type Item struct {
	Aggregate, ID string
	Created       time.Time              // in UTC, to the millisecond
	Messages      []driver.OutboxMessage // in their order
}

// Pending returns an iterator over the items that are not marked and were
// created before the time before. If that is some minutes ago, these are the
// items that a relay has lost or given up. The items have no order: Pending
// scans the whole table, with strong consistency.
//
// An item that cannot be read yields a [*dynamo.Error] with the zero Item, and
// the iteration continues. An error of the scan ends it.
func (o *Outbox) Pending(ctx context.Context, before time.Time) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		filter := "attribute_not_exists(#published) AND #created < :before"
		in := &dynamodb.ScanInput{
			ConsistentRead:            aws.Bool(true),
			ExpressionAttributeNames:  map[string]string{"#created": outboxitem.Created, "#published": outboxitem.Published},
			ExpressionAttributeValues: map[string]types.AttributeValue{":before": attribute.Millis(before)},
			FilterExpression:          &filter,
			TableName:                 &o.table,
		}
		for {
			out, err := o.client.Scan(ctx, in, quiet)
			if err != nil {
				yield(Item{}, o.fail("Scan", err))
				return
			}
			for _, stored := range out.Items {
				item, err := outboxitem.Decode(attribute.PlainItem(stored))
				if err != nil {
					err = &dynamo.Error{Op: "Scan", Table: o.table, Err: err,
						Advice: "an item is not one of an outbox; check that no other program writes to the table"}
				}
				if !yield(Item(item), err) {
					return
				}
			}
			if len(out.LastEvaluatedKey) == 0 {
				return
			}
			in.ExclusiveStartKey = out.LastEvaluatedKey
		}
	}
}
