package dynamo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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
			ExpressionAttributeNames:  map[string]string{"#created": outboxCreated, "#published": outboxPublished},
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

func readOutbox(item map[string]types.AttributeValue) (OutboxItem, error) {
	d := decoder{item: item}
	found := OutboxItem{
		Aggregate: d.text(outboxAggregate, false),
		ID:        d.text(outboxID, false),
		Created:   time.UnixMilli(d.number(outboxCreated, 0, maxMillis, 0)),
	}
	if d.err != nil {
		return OutboxItem{}, d.err
	}
	list, ok := item[outboxMessages].(*types.AttributeValueMemberL)
	if !ok {
		return OutboxItem{}, fmt.Errorf("attribute %q is not of type L", outboxMessages)
	}
	for i, v := range list.Value {
		m, err := readMessage(v)
		if err != nil {
			return OutboxItem{}, fmt.Errorf("message %d: %w", i, err)
		}
		m.Aggregate = found.Aggregate
		found.Messages = append(found.Messages, m)
	}
	return found, nil
}

func readMessage(v types.AttributeValue) (OutboxMessage, error) {
	m, ok := v.(*types.AttributeValueMemberM)
	if !ok {
		return OutboxMessage{}, errors.New("it is not of type M")
	}
	d := decoder{item: m.Value}
	found := OutboxMessage{ID: d.text("id", false)}
	found.Destination = d.text("destination", false)
	if d.err != nil {
		return OutboxMessage{}, d.err
	}
	kind, ok := m.Value["type"].(*types.AttributeValueMemberS)
	if !ok {
		return OutboxMessage{}, errors.New(`attribute "type" is not of type S`)
	}
	found.Type = kind.Value
	body, ok := m.Value["body"].(*types.AttributeValueMemberB)
	if !ok {
		return OutboxMessage{}, errors.New(`attribute "body" is not of type B`)
	}
	found.Body = body.Value
	if m.Value["attributes"] == nil {
		return found, nil
	}
	attributes, ok := m.Value["attributes"].(*types.AttributeValueMemberM)
	if !ok {
		return OutboxMessage{}, errors.New(`"attributes" is not of type M`)
	}
	found.Attributes = make(map[string]string, len(attributes.Value))
	for name, v := range attributes.Value {
		value, ok := v.(*types.AttributeValueMemberS)
		if !ok {
			return OutboxMessage{}, errors.New("an attribute of the message is not of type S")
		}
		found.Attributes[name] = value.Value
	}
	return found, nil
}
