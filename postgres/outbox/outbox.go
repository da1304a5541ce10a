// Package outbox publishes the messages that transactions write with
// [postgres.Tx.Publish] and [postgres.Publish].
//
// A relay polls the table. It is a program that calls [Outbox.Run], or a scheduled
// function that calls [Outbox.Publish] until nothing is left. Any number of relays may
// run at the same time: each locks the rows that it publishes, and skips those that
// another one has locked. NOTIFY, with [postgres.Options].OutboxChannel, only wakes a
// relay earlier: what it does not announce, the next poll finds.
//
// # Rows
//
// A row holds the messages of one aggregate in one transaction, in order. [SQL] returns
// the statements that create the table:
//
//	aggregate  text         the first part of the primary key
//	id         text         the second one
//	created    timestamptz  of the statement that wrote the row, by the server's clock
//	messages   text         JSON: [{id, destination, type, body in base64, attributes}]
//	published  timestamptz  NULL until the row is published
//
// The id of a message is the same in every run of one call, so that a reader recognizes
// a message that is published twice. A call that runs once more after its retention, or
// without its record, writes the same row again, unpublished.
//
// Aurora DSQL has no SKIP LOCKED: a relay does not run there.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lambda-once/once/postgres"
)

// An Outbox is a table of messages. It is safe for concurrent use. Make one with [New].
type Outbox struct {
	db       postgres.DB
	table    string // quoted
	channel  string // quoted, or ""
	interval time.Duration
}

// Options are the options of [New]. The zero value of every field is its default.
type Options struct {
	// Channel is the [postgres.Options].OutboxChannel, on which [Outbox.Run] listens.
	//
	// Default: none. Run polls only.
	Channel string

	// Interval is the time between two polls of [Outbox.Run] that find nothing.
	//
	// Default: 1 second.
	Interval time.Duration

	// Schema is the schema of the table.
	//
	// Default: none. The connection's search_path decides.
	Schema string
}

// New returns the outbox in a table. New sends nothing. It returns a
// [*postgres.OptionsError] for arguments that are not valid.
func New(db postgres.DB, table string, options *Options) (*Outbox, error) {
	o := Options{}
	if options != nil {
		o = *options
	}
	switch {
	case db == nil:
		return nil, &postgres.OptionsError{Reason: "the pool of the outbox is nil"}
	case table == "":
		return nil, &postgres.OptionsError{Reason: "the name of the outbox is empty"}
	case o.Interval < 0:
		return nil, &postgres.OptionsError{Reason: fmt.Sprintf("outbox.Options.Interval is %v; it must not be negative", o.Interval)}
	case o.Interval == 0:
		o.Interval = time.Second
	}
	box := &Outbox{db: db, table: quoted(o.Schema, table), interval: o.Interval}
	if o.Channel != "" {
		box.channel = quoted("", o.Channel)
	}
	return box, nil
}

func quoted(schema, name string) string {
	if schema == "" {
		return pgx.Identifier{name}.Sanitize()
	}
	return pgx.Identifier{schema, name}.Sanitize()
}

// SQL returns the statements that create a table for [postgres.Options].Outbox, for the
// files of a migration tool.
func SQL(table string, options *Options) []string {
	schema := ""
	if options != nil {
		schema = options.Schema
	}
	to := quoted(schema, table)
	return []string{
		"CREATE TABLE IF NOT EXISTS " + to + ` (
    aggregate text NOT NULL,
    id text NOT NULL,
    created timestamptz NOT NULL,
    messages text NOT NULL,
    published timestamptz,
    PRIMARY KEY (aggregate, id)
)`,
		// What is unpublished is little, and is what every poll reads.
		"CREATE INDEX IF NOT EXISTS " + quoted("", table+"_created") + " ON " + to + " (created) WHERE published IS NULL",
		"CREATE INDEX IF NOT EXISTS " + quoted("", table+"_published") + " ON " + to + " (published)",
	}
}

// CreateTable runs the statements of [SQL]. It is for tests and tools, as
// [postgres.CreateTable] is.
func CreateTable(ctx context.Context, db postgres.DB, table string, options *Options) error {
	for _, sql := range SQL(table, options) {
		if _, err := run(ctx, db, sql); err != nil {
			return &postgres.Error{Op: "CreateTable", Table: quoted("", table), Err: err}
		}
	}
	return nil
}

// run runs a statement without rows.
func run(ctx context.Context, db postgres.DB, sql string, args ...any) (affected int, err error) {
	rows, err := db.Query(ctx, sql, args...)
	if err != nil {
		return 0, err
	}
	rows.Close()
	return int(rows.CommandTag().RowsAffected()), rows.Err()
}

// ErrNotFound reports that there is no item to be marked, or a later one.
var ErrNotFound = errors.New("outbox: item not found")

// Mark marks an item as published. Call it when all messages of the item are published
// by other means than [Outbox.Publish]. created is the item's creation time.
//
// Mark returns a [*postgres.Error] that wraps [ErrNotFound] if there is no such item: it
// was swept since it was marked, or it was rewritten. A rewritten item has messages of
// its own.
func (o *Outbox) Mark(ctx context.Context, aggregate, id string, created time.Time) error {
	n, err := run(ctx, o.db, "UPDATE "+o.table+" SET published = clock_timestamp() WHERE aggregate = $1::text AND id = $2::text AND created = $3::timestamptz",
		aggregate, id, created)
	switch {
	case err != nil:
		return o.fail("Mark", err)
	case n == 0:
		return &postgres.Error{Op: "Mark", Table: o.table, Err: ErrNotFound, Advice: "it was swept, or it was rewritten and is published once more; or it is another table's"}
	}
	return nil
}

// Sweep deletes items that were published before cutoff, at most limit of them, and
// returns their number. Keep an item as long as a reader may meet its messages again.
func (o *Outbox) Sweep(ctx context.Context, cutoff time.Time, limit int) (deleted int, err error) {
	n, err := run(ctx, o.db, "DELETE FROM "+o.table+" WHERE (aggregate, id) IN (SELECT aggregate, id FROM "+o.table+
		" WHERE published < $1::timestamptz ORDER BY published LIMIT $2::int) AND published < $1::timestamptz", cutoff, limit)
	if err != nil {
		return n, o.fail("Sweep", err)
	}
	return n, nil
}

func (o *Outbox) fail(op string, err error) error {
	failed := &postgres.Error{Op: op, Table: o.table, Err: err}
	if strings.Contains(err.Error(), "SQLSTATE 42P01") {
		failed.Advice = "the table does not exist; run the statements of outbox.SQL in a migration"
	}
	return failed
}
