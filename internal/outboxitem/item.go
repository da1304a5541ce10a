// Package outboxitem is the format of an outbox's items. Package dynamo writes
// them in a transaction, package dynamo/outbox scans and marks them, and
// package handlers reads them from the table's stream.
//
// The package comment of dynamo/outbox documents the format.
//
// The package links no SDK, as handlers must not. It encodes an item as a plain
// map: a value is a string (S), an int64 (N), a []byte (B), a []any (L) or a
// map[string]any (M).
package outboxitem

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// The attributes of an item. Until it is marked, an item contains neither
// Published nor Expiration, so that no item expires unsent.
const (
	Aggregate  = "aggregate"
	ID         = "id"
	Created    = "created"
	Messages   = "messages"
	Published  = "published"
	Expiration = "expiration"
	Again      = "again"
)

// The attributes of a message.
const (
	messageID          = "id"
	messageDestination = "destination"
	messageType        = "type"
	messageBody        = "body"
	messageAttributes  = "attributes"
)

// Item is an item that is not marked.
type Item struct {
	Aggregate, ID string
	Created       time.Time // in UTC, to the millisecond
	Messages      []driver.OutboxMessage
}

// NewID returns the id of the item that an attempt writes for an aggregate. Each
// attempt has a token of its own, which is the same in all its requests. The owner of
// the record would not do: that of a durable execution's step is derived, and comes
// again when the step runs after the record's retention. Its item would then
// overwrite the first one.
func NewID(record, token, aggregate string) string {
	var b []byte
	for _, part := range []string{record, token, aggregate} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(part)))
		b = append(b, part...)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// MessageID returns the id of the i-th message of an item.
func MessageID(item string, i int) string { return item + "-" + strconv.Itoa(i) }

// Encode returns the attributes of an item.
func (i Item) Encode() map[string]any {
	messages := make([]any, len(i.Messages))
	for j, m := range i.Messages {
		messages[j] = encode(m)
	}
	return map[string]any{Aggregate: i.Aggregate, ID: i.ID, Created: i.Created.UnixMilli(), Messages: messages}
}

func encode(m driver.OutboxMessage) map[string]any {
	body := m.Body
	if body == nil {
		body = []byte{}
	}
	v := map[string]any{messageID: m.ID, messageDestination: m.Destination, messageType: m.Type, messageBody: body}
	if len(m.Attributes) > 0 {
		attributes := make(map[string]any, len(m.Attributes))
		for name, value := range m.Attributes {
			attributes[name] = value
		}
		v[messageAttributes] = attributes
	}
	return v
}

// Decode reads an item. Its error names an attribute, and contains no values.
func Decode(v map[string]any) (Item, error) {
	created, ok := v[Created].(int64)
	item := Item{Created: time.UnixMilli(created).UTC()}
	list, isList := v[Messages].([]any)
	switch {
	case !required(v, Aggregate, &item.Aggregate):
		return Item{}, Wrong(Aggregate)
	case !required(v, ID, &item.ID):
		return Item{}, Wrong(ID)
	case !ok || created < 0:
		return Item{}, Wrong(Created)
	case !isList:
		return Item{}, Wrong(Messages)
	}
	for i, value := range list {
		path := fmt.Sprintf("%s[%d]", Messages, i)
		fields, ok := value.(map[string]any)
		if !ok {
			return Item{}, Wrong(path)
		}
		m, wrong := decodeMessage(fields)
		if wrong != "" {
			return Item{}, Wrong(path + "." + wrong)
		}
		m.Aggregate = item.Aggregate
		item.Messages = append(item.Messages, m)
	}
	return item, nil
}

// decodeMessage returns the attribute that is wrong, or "".
func decodeMessage(v map[string]any) (m driver.OutboxMessage, wrong string) {
	attributes, present := v[messageAttributes]
	switch {
	case !required(v, messageID, &m.ID):
		return driver.OutboxMessage{}, messageID
	case !required(v, messageDestination, &m.Destination):
		return driver.OutboxMessage{}, messageDestination
	case !read(v, messageType, &m.Type):
		return driver.OutboxMessage{}, messageType
	case !read(v, messageBody, &m.Body):
		return driver.OutboxMessage{}, messageBody
	case present && !readAttributes(&m, attributes):
		return driver.OutboxMessage{}, messageAttributes
	}
	return m, ""
}

func readAttributes(m *driver.OutboxMessage, v any) bool {
	attributes, ok := v.(map[string]any)
	m.Attributes = make(map[string]string, len(attributes))
	for name, value := range attributes {
		text, isText := value.(string)
		m.Attributes[name], ok = text, ok && isText
	}
	return ok
}

// required reads a text that must not be empty.
func required(v map[string]any, name string, to *string) bool {
	return read(v, name, to) && *to != ""
}

func read[T any](v map[string]any, name string, to *T) (ok bool) {
	*to, ok = v[name].(T)
	return ok
}

// Wrong is the error that an attribute is missing or malformed.
type Wrong string

func (w Wrong) Error() string { return string(w) + " is missing, or not in Once's format" }

// SafeText returns the whole text.
func (w Wrong) SafeText() string { return w.Error() }
