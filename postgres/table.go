package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// A layout is a table: its quoted names and its limits.
type layout struct {
	table         string
	index, lapsed string // by the end of the retention; by the lease of records in progress
	met, written  string // name what a statement has met and written; never the table
	dsql, resume  bool
	maxSize       int
	timeout       time.Duration // of open transactions; negative is the server's
}

// None is longer than the first one.
const (
	indexSuffix   = "_expires"
	lapsedSuffix  = "_lapsed"
	metSuffix     = "_met"
	writtenSuffix = "_written"
)

// A column is one column of the table.
type column struct {
	name string // quoted
	kind kind
	rule string
}

// SQL returns the statements that create a table for a store with these options,
// for the files of a migration tool. They do nothing where the table and its
// indexes exist. Aurora DSQL needs each of them in a transaction of its own.
func SQL(table string, options *Options) ([]string, error) {
	l, err := options.layout(table, nil)
	if err != nil {
		return nil, err
	}
	return l.sql(), nil
}

func (l *layout) sql() []string {
	var lines []string
	for _, c := range columns {
		rule := c.rule
		if rule == primaryKey && !l.dsql {
			// Bytes are compared, so that an update of the server's locales does not
			// break the index. Aurora DSQL has no other collation.
			rule = `COLLATE "C" ` + primaryKey
		}
		lines = append(lines, "    "+strings.TrimSpace(c.name+" "+c.kind.name+" "+rule))
	}
	async := ""
	if l.dsql {
		async = "ASYNC "
	}
	statements := []string{
		"CREATE TABLE IF NOT EXISTS " + l.table + " (\n" + strings.Join(lines, ",\n") + "\n)",
		"CREATE INDEX " + async + "IF NOT EXISTS " + l.index + " ON " + l.table + ` ("expires")`,
	}
	if l.resume {
		running := ""
		if !l.dsql { // which has no partial indexes
			running = " WHERE " + l.isInProgress("")
		}
		statements = append(statements, "CREATE INDEX "+async+"IF NOT EXISTS "+l.lapsed+" ON "+l.table+` ("lease")`+running)
	}
	return statements
}

// CreateTable runs the statements of [SQL], one at a time, and checks the columns
// of the table. A table that exists must have the columns of these options with
// the same types, and the primary key; it may have other columns.
//
// CreateTable is for tests and tools. In production the table belongs in the
// migrations of the database.
func CreateTable(ctx context.Context, db DB, table string, options *Options) error {
	l, err := options.layout(table, nil)
	if err != nil {
		return err
	}
	for _, statement := range l.sql() {
		err := exec(ctx, db, statement)
		switch codeOf(err) {
		case "23505", "42P07", "42710":
			// Two sessions create the table at the same time: IF NOT EXISTS does
			// not see an uncommitted one.
			err = exec(ctx, db, statement)
		}
		if err != nil {
			return &Error{Op: "CreateTable", Table: l.table, Err: err}
		}
	}
	if err := l.check(ctx, db); err != nil {
		return &Error{Op: "CreateTable", Table: l.table, Err: err}
	}
	return nil
}

// CheckTable returns an [*Error] if a table that exists does not suit a store with these
// options: see [CreateTable]. It writes nothing.
func CheckTable(ctx context.Context, db DB, table string, options *Options) error {
	l, err := options.layout(table, nil)
	if err != nil {
		return err
	}
	if err := l.check(ctx, db); err != nil {
		return &Error{Op: "CheckTable", Table: l.table, Err: err, Advice: advice(err)}
	}
	return nil
}

// exec runs a statement that is not prepared: it comes once.
func exec(ctx context.Context, db DB, sql string) error {
	rows, err := db.Query(ctx, sql, pgx.QueryExecModeExec)
	if err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

// check compares the types of the columns, and the primary key.
func (l *layout) check(ctx context.Context, db DB) error {
	rows, err := db.Query(ctx, "SELECT "+columnList+" FROM "+l.table+" WHERE false", pgx.QueryExecModeExec)
	if err != nil {
		return err
	}
	// Before Close: the connection is the pool's again after it, and its next
	// statement writes into the same descriptions.
	fields := slices.Clone(rows.FieldDescriptions())
	rows.Close()
	if err := rows.Err(); err != nil {
		return err
	}
	for n, field := range fields {
		if c := columns[n]; field.DataTypeOID != c.kind.oid {
			return fmt.Errorf("the table exists, and its column %s is not of the type %s", c.name, c.kind.name)
		}
	}
	// Only planned: without a unique index on the id it fails with 42P10, as each claim would.
	err = exec(ctx, db, "EXPLAIN INSERT INTO "+l.table+` ("id", "status") VALUES ('', '') ON CONFLICT ("id") DO NOTHING`)
	if codeOf(err) == "42P10" {
		return fmt.Errorf(`the table exists, and its column "id" is not the primary key: %w`, err)
	}
	return err
}
