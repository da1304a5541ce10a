package handlers

import (
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/internal/outboxitem"
)

// outboxItem is one item: what a transaction publishes of one aggregate.
type outboxItem struct {
	key      OutboxKey
	event    string // of the stream, "" if it does not say
	messages []OutboxMessage
}

// readOutbox decodes a record of the stream. Even of an item that does not
// decode the aggregate is known, if the key is: what follows it has to wait.
func readOutbox(r events.DynamoDBEventRecord) record[*outboxItem] {
	item := &outboxItem{event: r.EventID}
	item.key.Aggregate, _ = plain(r.Change.Keys[outboxitem.Aggregate]).(string)
	image := r.Change.NewImage
	_, published := image[outboxitem.Published]
	read := record[*outboxItem]{
		id: r.Change.SequenceNumber, mark: r.EventSource, delivery: item,
		skip: r.EventName == string(events.DynamoDBOperationTypeRemove) || published,
	}
	if !read.skip {
		read.err = guarded(func() error { return item.decode(image) })
	}
	return read
}

func (item *outboxItem) decode(image map[string]events.DynamoDBAttributeValue) error {
	err := item.read(image)
	if err != nil {
		return &DecodeError{Type: "an item of an outbox", Err: &ShapeError{err.Error()}}
	}
	return nil
}

// read demands more than the format does: the ids of messages deduplicate
// them, and the aggregate orders them.
func (item *outboxItem) read(image map[string]events.DynamoDBAttributeValue) error {
	if len(image) == 0 {
		return outboxitem.Wrong("the new image")
	}
	stored, err := outboxitem.Decode(plain(events.NewMapAttribute(image)).(map[string]any))
	switch {
	case err != nil:
		return err
	case stored.Aggregate != item.key.Aggregate:
		return outboxitem.Wrong(outboxitem.Aggregate)
	case len(stored.Messages) == 0:
		return outboxitem.Wrong(outboxitem.Messages)
	}
	item.key.ID, item.key.Created = stored.ID, stored.Created
	for i, m := range stored.Messages {
		if m.ID != outboxitem.MessageID(stored.ID, i) {
			return outboxitem.Wrong(fmt.Sprintf("%s[%d].id", outboxitem.Messages, i))
		}
		attributes := map[string]string{ChainAttribute: m.ID}
		for name, text := range m.Attributes {
			if name != ChainAttribute || text != "" { // no attribute may be empty
				attributes[name] = text
			}
		}
		item.messages = append(item.messages, OutboxMessage{
			ID: m.ID, Aggregate: stored.Aggregate, Destination: m.Destination, Type: m.Type, Body: m.Body, Attributes: attributes,
		})
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
