package outbox

import (
	"context"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lambda-once/once/postgres"
	"github.com/lambda-once/once/postgres/internal/outboxrow"
)

// Item is what one transaction publishes for one aggregate.
type Item struct {
	Aggregate, ID string
	Created       time.Time // in UTC, by the server's clock
	Messages      []Message // in their order
}

// Message is a message in an [Item].
type Message struct {
	ID string // the same however often the message is published; at most 128 bytes
	postgres.Message
}

const columns = "aggregate, id, created, messages"

// read reads a row of columns.
func read(rows pgx.CollectableRow) (Item, error) {
	var item Item
	var text string
	if err := rows.Scan(&item.Aggregate, &item.ID, &item.Created, &text); err != nil {
		return Item{}, err
	}
	item.Created = item.Created.UTC()
	messages, err := outboxrow.Decode(text)
	if err != nil {
		return Item{}, err
	}
	for _, m := range messages {
		item.Messages = append(item.Messages, Message{ID: m.ID, Message: postgres.Message{
			Aggregate: item.Aggregate, Destination: m.Destination, Type: m.Type, Body: m.Body, Attributes: m.Attributes,
		}})
	}
	return item, nil
}

// Pending returns an iterator over the items that are not published and were created
// before the time before, the oldest first. If that is some minutes ago, these are the
// items that no relay gets rid of.
//
// An item that cannot be read yields a [*postgres.Error] with the zero Item, and the
// iteration continues. Any other error ends it. The iteration holds a connection.
func (o *Outbox) Pending(ctx context.Context, before time.Time) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		rows, err := o.db.Query(ctx, "SELECT "+columns+" FROM "+o.table+
			" WHERE published IS NULL AND created < $1::timestamptz ORDER BY created, id", before)
		if err != nil {
			yield(Item{}, o.fail("Pending", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			item, err := read(rows)
			if err != nil {
				item, err = Item{}, o.unreadable(err)
			}
			if !yield(item, err) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Item{}, o.fail("Pending", err))
		}
	}
}

func (o *Outbox) unreadable(err error) error {
	return &postgres.Error{Op: "read", Table: o.table, Err: err, Advice: "a row is not one of an outbox; check that no other program writes to the table"}
}
