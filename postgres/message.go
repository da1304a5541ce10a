package postgres

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/lambda-once/once/internal/outboxitem"
	"github.com/lambda-once/once/postgres/internal/outboxrow"
)

// A Message is published if and only if the transaction is committed that it was
// added to with [Tx.Publish] or [Publish].
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

// maxAggregate keeps the row of the primary key's index small enough.
const maxAggregate = 2048

func (m Message) validate() error {
	switch {
	case m.Aggregate == "":
		return errors.New("Publish of a message without Aggregate")
	case len(m.Aggregate) > maxAggregate:
		return errors.New("Publish of a message with an Aggregate of more than 2048 bytes")
	case m.Destination == "":
		return errors.New("Publish of a message without Destination")
	}
	valid := utf8.ValidString(m.Aggregate) && utf8.ValidString(m.Destination) && utf8.ValidString(m.Type)
	for name, value := range m.Attributes {
		valid = valid && utf8.ValidString(name) && utf8.ValidString(value)
	}
	if strings.ContainsRune(m.Aggregate, 0) {
		return errors.New("Publish of a message with a NUL in its Aggregate, which PostgreSQL does not store")
	}
	if !valid {
		// JSON would replace the bytes, and two aggregates might become one.
		return errors.New("Publish of a message with text that is not valid UTF-8; only Body may contain any bytes")
	}
	return nil
}

func (m Message) clone() Message {
	m.Body, m.Attributes = bytes.Clone(m.Body), maps.Clone(m.Attributes)
	return m
}

// outboxRows returns the statements for the messages: one row for each aggregate, as
// a list preserves their order, and the rows of a transaction have none. The
// statements have no condition: the record fences them.
func (l *layout) outboxRows(record string, messages []Message) []statement {
	var rows []*outboxrow.Row
	of := map[string]*outboxrow.Row{} // by aggregate
	for _, m := range messages {
		r := of[m.Aggregate]
		if r == nil {
			r = &outboxrow.Row{Aggregate: m.Aggregate, ID: outboxitem.NewID(record, m.Aggregate)}
			rows, of[m.Aggregate] = append(rows, r), r
		}
		r.Messages = append(r.Messages, outboxrow.Message{
			ID: outboxitem.MessageID(r.ID, len(r.Messages)), Destination: m.Destination, Type: m.Type, Body: m.Body, Attributes: m.Attributes,
		})
	}
	statements := make([]statement, len(rows))
	for i, r := range rows {
		statements[i] = statement{sql: outboxrow.Insert(l.outbox), args: []any{r.Aggregate, r.ID, r.Encode()}}
	}
	if len(rows) > 0 && l.channel != "" {
		statements = append(statements, statement{sql: "SELECT pg_notify($1::text, '')", args: []any{l.channel}})
	}
	return statements
}
