// Package outbox reads the items of an outbox from the stream of its table, and
// decides which of their messages may be published at the same time.
package outbox

import (
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent/outbound"
	"github.com/lambda-once/once/internal/outboxitem"
)

// An Item holds the messages of a transaction for one aggregate.
type Item struct {
	Key      Key
	Event    string // id of the stream's event, or ""
	Messages []outbound.Message
}

// A Key names an item, and the time at which it was written.
type Key struct {
	Aggregate, ID string
	Created       time.Time
}

// Pending reports whether a record is of an item that is not marked as
// published.
func Pending(r events.DynamoDBEventRecord) bool {
	_, published := r.Change.NewImage[outboxitem.Published]
	return !published && r.EventName != string(events.DynamoDBOperationTypeRemove)
}

// NewItem returns the item of a record without its messages. The aggregate is
// known even if the item does not decode, because the items after it must wait.
func NewItem(r events.DynamoDBEventRecord) *Item {
	item := &Item{Event: r.EventID}
	item.Key.Aggregate, _ = plain(r.Change.Keys[outboxitem.Aggregate]).(string)
	return item
}

// Decode reads the item from the new image of its record. It demands more than
// the format does: the ids of messages deduplicate them, and the aggregate
// orders them.
func (item *Item) Decode(image map[string]events.DynamoDBAttributeValue) error {
	if len(image) == 0 {
		return outboxitem.Wrong("the new image")
	}
	stored, err := outboxitem.Decode(plain(events.NewMapAttribute(image)).(map[string]any))
	switch {
	case err != nil:
		return err
	case stored.Aggregate != item.Key.Aggregate:
		return outboxitem.Wrong(outboxitem.Aggregate)
	case len(stored.Messages) == 0:
		return outboxitem.Wrong(outboxitem.Messages)
	}
	item.Key.ID, item.Key.Created = stored.ID, stored.Created
	for i, m := range stored.Messages {
		if m.ID != outboxitem.MessageID(stored.ID, i) {
			return outboxitem.Wrong(fmt.Sprintf("%s[%d].id", outboxitem.Messages, i))
		}
		if m.Attributes == nil {
			m.Attributes = map[string]string{}
		}
		item.Messages = append(item.Messages, m)
	}
	return nil
}

// plain returns a value as package outboxitem takes it. The zero value, which
// is that of an absent attribute, is nil: it calls itself binary.
func plain(v events.DynamoDBAttributeValue) any {
	if v.IsNull() {
		return nil
	}
	switch v.DataType() {
	case events.DataTypeString:
		return v.String()
	case events.DataTypeNumber:
		if n, err := v.Int64(); err == nil {
			return n
		}
	case events.DataTypeBinary:
		return v.Binary()
	case events.DataTypeList:
		list := make([]any, len(v.List()))
		for i, e := range v.List() {
			list[i] = plain(e)
		}
		return list
	case events.DataTypeMap:
		m := make(map[string]any, len(v.Map()))
		for name, e := range v.Map() {
			m[name] = plain(e)
		}
		return m
	}
	return nil
}
