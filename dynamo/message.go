package dynamo

import (
	"bytes"
	"errors"
	"maps"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/internal/attribute"
	"github.com/lambda-once/once/internal/outboxitem"
	"github.com/lambda-once/once/internal/recorditem"
)

// A Message is published if and only if the transaction is committed that it was
// added to with [Tx.Publish].
type Message struct {
	// Aggregate identifies what the message is about, such as the id of an
	// order. Messages with the same Aggregate are published in order. At most
	// 2048 bytes. Required.
	Aggregate string
	// Destination is a name that the relay knows, such as the name of a queue.
	// Required.
	Destination string
	Type        string // for the readers of the message; may be empty
	Body        []byte
	Attributes  map[string]string
}

func (m Message) validate() error {
	switch {
	case m.Aggregate == "":
		return errors.New("Publish of a message without Aggregate")
	case len(m.Aggregate) > recorditem.MaxPartitionKeySize:
		return errors.New("Publish of a message with an Aggregate of more than 2048 bytes")
	case m.Destination == "":
		return errors.New("Publish of a message without Destination")
	}
	valid := utf8.ValidString(m.Aggregate) && utf8.ValidString(m.Destination) && utf8.ValidString(m.Type)
	for name, value := range m.Attributes {
		valid = valid && utf8.ValidString(name) && utf8.ValidString(value)
	}
	if !valid {
		// The SDK would replace the bytes, and two aggregates might become one.
		return errors.New("Publish of a message with text that is not valid UTF-8; only Body may contain any bytes")
	}
	return nil
}

func (m Message) clone() Message {
	m.Body, m.Attributes = bytes.Clone(m.Body), maps.Clone(m.Attributes)
	return m
}

// outboxItems returns the writes for the messages: one item for each aggregate,
// as a list preserves their order, and the items of a transaction have none.
// The writes have no condition: the record fences them.
func (t *Tx) outboxItems(table, record, token string) []types.TransactWriteItem {
	var items []*outboxitem.Item
	of := map[string]*outboxitem.Item{} // by aggregate
	for _, m := range t.messages {
		item := of[m.Aggregate]
		if item == nil {
			item = &outboxitem.Item{Aggregate: m.Aggregate, ID: outboxitem.NewID(record, token, m.Aggregate), Created: t.created}
			items, of[m.Aggregate] = append(items, item), item
		}
		item.Messages = append(item.Messages, outboxitem.Message{
			ID: outboxitem.MessageID(item.ID, len(item.Messages)), Destination: m.Destination, Type: m.Type, Body: m.Body, Attributes: m.Attributes,
		})
	}
	writes := make([]types.TransactWriteItem, len(items))
	for i, item := range items {
		writes[i] = types.TransactWriteItem{Put: &types.Put{
			Item:                                attribute.ItemOf(item.Encode()),
			ReturnValuesOnConditionCheckFailure: allOld,
			TableName:                           &table,
		}}
	}
	return writes
}
