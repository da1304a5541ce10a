// Package outboxrow is the format of an outbox's rows. Package postgres writes them in
// a transaction, and package postgres/outbox reads and marks them.
//
// The package comment of postgres/outbox documents the format.
package outboxrow

import (
	"encoding/json"
	"fmt"
)

// A Row is what one transaction publishes for one aggregate.
type Row struct {
	Aggregate, ID string
	Messages      []Message
}

// A Message is a message in a row.
type Message struct {
	ID          string            `json:"id"`
	Destination string            `json:"destination"`
	Type        string            `json:"type,omitempty"`
	Body        []byte            `json:"body,omitempty"`
	Attributes  map[string]string `json:"attributes,omitempty"`
}

// Insert returns the statement that writes a row to a table, whose name is quoted. Its
// arguments are the aggregate, the id and the encoded messages.
//
// The time is the server's, and not that of the transaction's beginning: of two
// transactions of which one has seen the other's effects, it is later.
func Insert(table string) string {
	return "INSERT INTO " + table + " (aggregate, id, created, messages) VALUES ($1::text, $2::text, clock_timestamp(), $3::text)" +
		" ON CONFLICT (aggregate, id) DO UPDATE SET created = EXCLUDED.created, messages = EXCLUDED.messages, published = NULL"
}

// Encode returns the stored form of the messages. It is JSON, so that a person can
// read it, but no jsonb, which would not take every string.
func (r Row) Encode() string {
	text, err := json.Marshal(r.Messages)
	if err != nil {
		panic(err) // strings and bytes always marshal
	}
	return string(text)
}

// Decode reads messages. Its error contains none of their values.
func Decode(text string) ([]Message, error) {
	var messages []Message
	if err := json.Unmarshal([]byte(text), &messages); err != nil {
		return nil, fmt.Errorf("the messages of the row are not those of an outbox: %T", err)
	}
	for i, m := range messages {
		if m.ID == "" || m.Destination == "" {
			return nil, fmt.Errorf("message %d of the row has no id or no destination", i)
		}
	}
	return messages, nil
}
