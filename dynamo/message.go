package dynamo

import (
	"errors"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/outboxitem"
)

// checkMessage returns an error for a message that cannot be published.
func checkMessage(m driver.OutboxMessage) error {
	switch {
	case m.ID != "":
		return errors.New("Publish of a message with an ID, which the store derives")
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

// outboxItems returns the writes for the messages: one item for each aggregate,
// as a list preserves their order, and the items of a transaction have none.
// The writes have no condition: the record fences them.
func (t *Tx) outboxItems(table, record, token string) []addition {
	var items []*outboxitem.Item
	of := map[string]*outboxitem.Item{} // by aggregate
	for _, m := range t.messages {
		item := of[m.Aggregate]
		if item == nil {
			item = &outboxitem.Item{Aggregate: m.Aggregate, ID: outboxitem.NewID(record, token, m.Aggregate), Created: t.created}
			items, of[m.Aggregate] = append(items, item), item
		}
		m.ID = outboxitem.MessageID(item.ID, len(item.Messages))
		item.Messages = append(item.Messages, m)
	}
	additions := make([]addition, len(items))
	for i, item := range items {
		encoded := attribute.ItemOf(item.Encode())
		additions[i] = addition{table: table, size: attribute.ItemSize(encoded), write: types.TransactWriteItem{Put: &types.Put{
			Item: encoded, ReturnValuesOnConditionCheckFailure: allOld, TableName: &table,
		}}}
	}
	return additions
}
