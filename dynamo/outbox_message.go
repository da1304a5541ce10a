package dynamo

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"maps"
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Message is one to be published after the transaction that it was added to
// with [Tx.Publish], and only then.
type Message struct {
	// Aggregate is what the messages of one thing have in common, such as
	// the id of an order: they go out in order. At most 2048 bytes. Required.
	Aggregate string
	// Destination is a name that the relay knows, such as that of a queue.
	// Required.
	Destination string
	Type        string // of the message, for its readers; may be empty
	Body        []byte
	Attributes  map[string]string
}

func (m Message) validate() error {
	switch {
	case m.Aggregate == "":
		return errors.New("Publish of a message without Aggregate")
	case len(m.Aggregate) > maxPartitionKeyBytes:
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
		return errors.New("Publish of a message with text that is not valid UTF-8; only Body may hold any bytes")
	}
	return nil
}

func (m Message) clone() Message {
	m.Body, m.Attributes = bytes.Clone(m.Body), maps.Clone(m.Attributes)
	return m
}

// The attributes of an item of the outbox. Until it is published, an item has
// neither published nor expiration, so that none expires unsent.
const (
	outboxAggregate  = "aggregate"  // S, the partition key
	outboxID         = "id"         // S, the sort key
	outboxCreated    = "created"    // N, epoch milliseconds
	outboxMessages   = "messages"   // L of M
	outboxPublished  = "published"  // N, epoch milliseconds
	outboxExpiration = "expiration" // N, epoch seconds; the table's TTL attribute
)

// outboxItems are the writes for the messages: one item for each aggregate,
// as a list keeps their order, and items of one transaction have none.
// Nothing is demanded of what is there: the record fences them.
func (t *Tx) outboxItems(table, record string) []types.TransactWriteItem {
	lists := map[string][]types.AttributeValue{}
	var order []string
	for _, m := range t.messages {
		if lists[m.Aggregate] == nil {
			order = append(order, m.Aggregate)
		}
		id := outboxItemID(record, m.Aggregate) + "-" + strconv.Itoa(len(lists[m.Aggregate]))
		lists[m.Aggregate] = append(lists[m.Aggregate], m.value(id))
	}
	writes := make([]types.TransactWriteItem, 0, len(order))
	for _, aggregate := range order {
		writes = append(writes, types.TransactWriteItem{Put: &types.Put{
			Item: map[string]types.AttributeValue{
				outboxAggregate: text(aggregate),
				outboxID:        text(outboxItemID(record, aggregate)),
				outboxCreated:   millis(t.created),
				outboxMessages:  &types.AttributeValueMemberL{Value: lists[aggregate]},
			},
			ReturnValuesOnConditionCheckFailure: allOld,
			TableName:                           &table,
		}})
	}
	return writes
}

// outboxItemID is the same for every run of one call, so that whatever is
// published twice can be told by its id.
func outboxItemID(record, aggregate string) string {
	var b []byte
	for _, part := range []string{record, aggregate} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(part)))
		b = append(b, part...)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (m Message) value(id string) types.AttributeValue {
	body := m.Body
	if body == nil {
		body = []byte{}
	}
	v := map[string]types.AttributeValue{
		"id":          text(id),
		"destination": text(m.Destination),
		"type":        text(m.Type),
		"body":        &types.AttributeValueMemberB{Value: body},
	}
	if len(m.Attributes) > 0 {
		attributes := make(map[string]types.AttributeValue, len(m.Attributes))
		for name, value := range m.Attributes {
			attributes[name] = text(value)
		}
		v["attributes"] = &types.AttributeValueMemberM{Value: attributes}
	}
	return &types.AttributeValueMemberM{Value: v}
}
