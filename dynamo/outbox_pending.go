package dynamo

import (
	"context"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/internal/attribute"
	"github.com/lambda-once/once/internal/outboxitem"
)

// OutboxItem is what one transaction has published for one aggregate.
type OutboxItem struct {
	Aggregate, ID string
	Created       time.Time
	Messages      []OutboxMessage // in their order
}

// OutboxMessage is a [Message] as it is in the outbox.
type OutboxMessage struct {
	ID string // the same however often it is published; at most 128 bytes
	Message
}

// Pending gives the items that are not published and were written before a
// time, from a strongly consistent scan of the whole table: those that a relay
// has lost or given up, when the time is some minutes ago. They come in no
// order. An error comes with the zero item; after that of one item the scan
// goes on, and after any other it is over.
func (o *Outbox) Pending(ctx context.Context, before time.Time) iter.Seq2[OutboxItem, error] {
	return func(yield func(OutboxItem, error) bool) {
		filter := "attribute_not_exists(#published) AND #created < :before"
		in := &dynamodb.ScanInput{
			ConsistentRead:            aws.Bool(true),
			ExpressionAttributeNames:  map[string]string{"#created": outboxitem.Created, "#published": outboxitem.Published},
			ExpressionAttributeValues: map[string]types.AttributeValue{":before": millis(before)},
			FilterExpression:          &filter,
			TableName:                 &o.table,
		}
		for {
			out, err := o.client.Scan(ctx, in, quiet)
			if err != nil {
				yield(OutboxItem{}, o.fail("Scan", err))
				return
			}
			for _, item := range out.Items {
				found, err := readOutbox(item)
				if err != nil {
					err = &Error{Op: "Scan", Table: o.table, Err: err,
						Advice: "an item is none of an outbox; check that no other program writes to the table"}
				}
				if !yield(found, err) {
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

func readOutbox(stored map[string]types.AttributeValue) (OutboxItem, error) {
	item, err := outboxitem.Decode(attribute.PlainItem(stored))
	if err != nil {
		return OutboxItem{}, err
	}
	found := OutboxItem{Aggregate: item.Aggregate, ID: item.ID, Created: item.Created}
	for _, m := range item.Messages {
		found.Messages = append(found.Messages, OutboxMessage{ID: m.ID, Message: Message{
			Aggregate: item.Aggregate, Destination: m.Destination, Type: m.Type, Body: m.Body, Attributes: m.Attributes,
		}})
	}
	return found, nil
}
