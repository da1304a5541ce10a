package postgres

import (
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/lambda-once/once/idempotent/driver"
)

// Options are the options of [New]. The zero value of every field is its default.
type Options struct {
	// DSQL suits Aurora DSQL: an index that is built asynchronously, no collation, no
	// savepoint, and sweeps without locks. Claims are the same. Set it in functions, too.
	//
	// Default: false.
	DSQL bool

	// MaxSize is the number of bytes that a result, or all steps of a record
	// together, may have. A larger result is replaced by the reason why it is
	// unavailable, because the work is done. A step that does not fit is an error
	// that wraps [driver.ErrTooLarge], and so is a request that is stored with its claim.
	//
	// Default: 1 MiB, which is also the most with DSQL.
	MaxSize int

	// Resume adds an index of the records in progress, by which handlers.Resume finds work
	// that callers left behind, to the statements of [SQL] and to [CreateTable]. Every heartbeat
	// then writes to that index, too.
	//
	// Default: false. The search reads the table.
	Resume bool

	// Schema is the schema of the table.
	//
	// Set it where statements of the handler may change the search_path of a
	// pooled connection: later claims would go to a table of a different schema.
	//
	// Default: none. The connection's search_path decides.
	Schema string

	// TransactionTimeout is how long the server keeps the transaction of
	// [Transaction] whose client has vanished, with its locks. The server counts from
	// the last statement of the handler, and from PostgreSQL 17 on also from the
	// first. In a Lambda function it is the time until two seconds after the
	// invocation. Before 17, a transaction whose last statement came late may last for
	// almost twice the invocation. A shorter setting of the server or the role stays in
	// effect. A negative value leaves all to the server. Not with DSQL.
	//
	// A transaction that reaches it fails, also if the handler still runs: elsewhere
	// than on Lambda, choose more than the longest handler takes.
	//
	// Default: none, except in a Lambda function.
	TransactionTimeout time.Duration
}

const (
	defaultMaxSize = 1 << 20
	// PostgreSQL cuts longer names off without an error, and two of them could
	// become one.
	maxName = 63
	// The index is named after the table.
	maxTableName = maxName - len(indexSuffix)
)

// layout returns the table with these options, or a [*driver.ConfigError] with their
// mistakes and those of other arguments.
func (o *Options) layout(table string, mistakes driver.Mistakes) (*layout, error) {
	o = cmp.Or(o, &Options{})
	mistakes.If(o.MaxSize < 0, "postgres: Options.MaxSize is %d; it must not be negative", o.MaxSize)
	mistakes.If(o.DSQL && o.MaxSize > defaultMaxSize,
		"postgres: Options.MaxSize is %d with Options.DSQL; a column of Aurora DSQL has at most %d bytes", o.MaxSize, defaultMaxSize)
	mistakes.If(o.DSQL && o.TransactionTimeout != 0,
		"postgres: Options.TransactionTimeout is set with Options.DSQL, which has a limit of its own")
	mistakes.Unit("postgres: Options.TransactionTimeout", o.TransactionTimeout)
	checkName(&mistakes, "the table", table, maxTableName)
	quoted := func(names ...string) string { return pgx.Identifier(names).Sanitize() }
	l := &layout{
		table: quoted(table), index: quoted(table + indexSuffix), lapsed: quoted(table + lapsedSuffix), met: quoted(table + metSuffix), written: quoted(table + writtenSuffix),
		dsql: o.DSQL, resume: o.Resume, maxSize: cmp.Or(o.MaxSize, defaultMaxSize), timeout: o.TransactionTimeout,
	}
	if o.Schema != "" {
		checkName(&mistakes, "Options.Schema", o.Schema, maxName)
		l.table = quoted(o.Schema, table)
	}
	return l, mistakes.Err()
}

// A kind is a type of a column.
type kind struct {
	name  string
	oid   uint32
	empty string // the literal of an empty value
}

var (
	textKind   = kind{"text", pgtype.TextOID, "''"}
	numberKind = kind{"bigint", pgtype.Int8OID, "0"}
	timeKind   = kind{"timestamptz", pgtype.TimestamptzOID, "NULL"}
	bytesKind  = kind{"bytea", pgtype.ByteaOID, "NULL"}
	// Aurora DSQL adds no column with a default to a table that exists.
	lateTextKind = kind{"text", pgtype.TextOID, "NULL"}
)

const primaryKey = "PRIMARY KEY"

// columns are those of the table, in the order in which all statements list them.
var columns = []column{
	{`"id"`, textKind, primaryKey},
	{`"status"`, textKind, "NOT NULL"},
	{`"owner"`, textKind, "NOT NULL DEFAULT ''"},
	{`"attempt"`, numberKind, "NOT NULL DEFAULT 0"},
	{`"refunds"`, numberKind, "NOT NULL DEFAULT 0"},
	{`"lease"`, timeKind, ""},
	{`"expires"`, timeKind, ""},
	{`"fingerprint"`, textKind, "NOT NULL DEFAULT ''"},
	{`"payload"`, textKind, "NOT NULL DEFAULT ''"},
	{`"unavailable"`, textKind, "NOT NULL DEFAULT ''"},
	{`"data"`, bytesKind, ""},
	{`"steps"`, bytesKind, ""},
	{`"began"`, timeKind, ""},
	{`"request"`, bytesKind, ""},
	{`"ended"`, lateTextKind, ""},
}

// The names of all columns, and the expression of a whole row as one text.
var columnList, wholeRow = columnNames(""), "ROW(" + columnNames("stored.") + ")::text"

func columnNames(row string) string {
	names := make([]string, len(columns))
	for n, c := range columns {
		names[n] = row + c.name
	}
	return strings.Join(names, ", ")
}

func checkName(mistakes *driver.Mistakes, of, name string, longest int) {
	mistakes.If(name == "", "postgres: the name of %s is empty", of)
	mistakes.If(len(name) > longest, "postgres: the name of %s has %d bytes; at most %d are allowed", of, len(name), longest)
	mistakes.If(strings.ContainsRune(name, 0) || !utf8.ValidString(name), "postgres: the name of %s contains a NUL character, or is not UTF-8", of)
}
