package handlers

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
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
	item.key.Aggregate, _ = stringAttribute(r.Change.Keys["aggregate"])
	image := r.Change.NewImage
	_, published := image["published"]
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
	if wrong := item.read(image); wrong != "" {
		return &DecodeError{Type: "an item of an outbox", Err: &ShapeError{wrong + " is missing, or not as Once writes it"}}
	}
	return nil
}

// read returns the attribute that is not where, or of what type, the layout of
// the outbox has it, "" if there is none.
func (item *outboxItem) read(image map[string]events.DynamoDBAttributeValue) (wrong string) {
	if len(image) == 0 {
		return "the new image"
	}
	aggregate, ok := stringAttribute(image["aggregate"])
	if !ok || aggregate == "" || aggregate != item.key.Aggregate {
		return "aggregate"
	}
	if item.key.ID, ok = stringAttribute(image["id"]); !ok || item.key.ID == "" {
		return "id"
	}
	if item.key.Created, ok = timeAttribute(image["created"]); !ok {
		return "created"
	}
	list, ok := attribute(image["messages"], events.DataTypeList, events.DynamoDBAttributeValue.List)
	if !ok || len(list) == 0 {
		return "messages"
	}
	item.messages = make([]OutboxMessage, len(list))
	for i, value := range list {
		fields, ok := attribute(value, events.DataTypeMap, events.DynamoDBAttributeValue.Map)
		if !ok {
			return fmt.Sprintf("messages[%d]", i)
		}
		if wrong := item.readMessage(i, fields); wrong != "" {
			return fmt.Sprintf("messages[%d].%s", i, wrong)
		}
	}
	return ""
}

func (item *outboxItem) readMessage(i int, fields map[string]events.DynamoDBAttributeValue) (wrong string) {
	m, ok := &item.messages[i], false
	m.Aggregate = item.key.Aggregate
	if m.ID, ok = stringAttribute(fields["id"]); !ok || m.ID != item.key.ID+"-"+strconv.Itoa(i) {
		return "id"
	}
	if m.Destination, ok = stringAttribute(fields["destination"]); !ok || m.Destination == "" {
		return "destination"
	}
	if m.Type, ok = stringAttribute(fields["type"]); !ok {
		return "type"
	}
	if m.Body, ok = attribute(fields["body"], events.DataTypeBinary, events.DynamoDBAttributeValue.Binary); !ok {
		return "body"
	}
	m.Attributes = map[string]string{ChainAttribute: m.ID}
	given, has := fields["attributes"]
	if !has {
		return ""
	}
	attributes, ok := attribute(given, events.DataTypeMap, events.DynamoDBAttributeValue.Map)
	for name, value := range attributes {
		text, isText := stringAttribute(value)
		if name != ChainAttribute || text != "" { // no attribute may be empty
			m.Attributes[name] = text
		}
		ok = ok && isText
	}
	if !ok {
		return "attributes"
	}
	return ""
}

func stringAttribute(value events.DynamoDBAttributeValue) (string, bool) {
	return attribute(value, events.DataTypeString, events.DynamoDBAttributeValue.String)
}

// timeAttribute reads epoch milliseconds.
func timeAttribute(value events.DynamoDBAttributeValue) (time.Time, bool) {
	text, ok := attribute(value, events.DataTypeNumber, events.DynamoDBAttributeValue.Number)
	n, err := strconv.ParseInt(text, 10, 64)
	return time.UnixMilli(n).UTC(), ok && err == nil && n >= 0
}

// attribute reads a value of one type. The zero value, which is that of an
// absent attribute, calls itself binary.
func attribute[T any](value events.DynamoDBAttributeValue, want events.DynamoDBDataType, get func(events.DynamoDBAttributeValue) T) (content T, ok bool) {
	if value.IsNull() || value.DataType() != want {
		return content, false
	}
	return get(value), true
}
