package relay

import (
	"cmp"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/outboxitem"
)

// An item holds the messages of a transaction for one aggregate, or why they cannot be
// published.
type item struct {
	key      driver.OutboxKey
	event    string // id of the stream's event, or ""
	messages []driver.OutboxMessage
	err      error
}

// readItem returns the item of a record, or nil if it is marked as published or removed.
// The aggregate is known even if the item does not decode, because the items after it
// must wait.
func readItem(r events.DynamoDBEventRecord) *item {
	_, published := r.Change.NewImage[outboxitem.Published]
	if published || r.EventName == string(events.DynamoDBOperationTypeRemove) {
		return nil
	}
	read := &item{event: r.EventID}
	read.key.Aggregate, _ = plain(r.Change.Keys[outboxitem.Aggregate]).(string)
	read.err = guarded(func() error {
		if err := read.decode(r.Change.NewImage); err != nil {
			return &handlers.DecodeError{Type: "an item of an outbox", Err: &handlers.ShapeError{Reason: err.Error()}}
		}
		return nil
	})
	if r.Change.SequenceNumber == "" {
		read.err = &handlers.NoIDError{}
	}
	return read
}

// decode reads the item from the new image of its record. It demands more than
// the format does: the ids of messages deduplicate them, and the aggregate
// orders them.
func (i *item) decode(image map[string]events.DynamoDBAttributeValue) error {
	if len(image) == 0 {
		return outboxitem.Wrong("the new image")
	}
	stored, err := outboxitem.Decode(plain(events.NewMapAttribute(image)).(map[string]any))
	switch {
	case err != nil:
		return err
	case stored.Aggregate != i.key.Aggregate:
		return outboxitem.Wrong(outboxitem.Aggregate)
	case len(stored.Messages) == 0:
		return outboxitem.Wrong(outboxitem.Messages)
	}
	i.key.ID, i.key.Created = stored.ID, stored.Created
	for at, m := range stored.Messages {
		if m.ID != outboxitem.MessageID(stored.ID, at) {
			return outboxitem.Wrong(fmt.Sprintf("%s[%d].id", outboxitem.Messages, at))
		}
		if m.Attributes == nil {
			m.Attributes = map[string]string{}
		}
		m.Attributes[handlers.ChainAttribute] = cmp.Or(m.Attributes[handlers.ChainAttribute], m.ID)
		i.messages = append(i.messages, m)
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
