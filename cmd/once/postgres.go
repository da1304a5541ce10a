package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/postgres"
)

type postgresFlags struct {
	connection string
	options    postgres.Options
}

const fromEnvironment = "env"

func (o *postgresFlags) add(f *flag.FlagSet) {
	f.StringVar(&o.connection, "postgres", "", "the `connection` string of PostgreSQL, or env for $DATABASE_URL or PGHOST, PGPASSWORD and so on; the table is idempotency without --table and $IDEMPOTENCY_TABLE")
	f.StringVar(&o.options.Schema, "schema", "", "the `name` of the table's schema, with --postgres")
	c := &o.options.Columns
	renames(f, "column", "a renamed column as `name=column`, of attempt, began, data, ended, expires, fingerprint, id, lease, owner, payload, refunds, request, status, steps and unavailable, with --postgres; repeatable", map[string]*string{
		"attempt": &c.Attempt, "began": &c.Began, "data": &c.Data, "ended": &c.Ended, "expires": &c.Expires, "fingerprint": &c.Fingerprint, "id": &c.ID, "lease": &c.Lease,
		"owner": &c.Owner, "payload": &c.Payload, "refunds": &c.Refunds, "request": &c.Request, "status": &c.Status, "steps": &c.Steps, "unavailable": &c.Unavailable,
	})
}

// pool opens a pool of one connection. It sends nothing. The text of pgx's error may
// contain a part of the password, so it is not printed.
func (o *postgresFlags) pool(ctx context.Context, w *waits) (*waitingPool, error) {
	s, from := o.connection, "--postgres"
	if s == fromEnvironment {
		s, from = os.Getenv("DATABASE_URL"), "DATABASE_URL, or PGHOST and so on,"
		if s == "" && !slices.ContainsFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PG") }) {
			// pgx would take some database of this machine.
			return nil, endf(codeUsage, "--postgres env: set DATABASE_URL, or PGHOST and so on")
		}
	}
	config, err := pgxpool.ParseConfig(s)
	if err != nil || misread(s) {
		return nil, endf(codeUsage, "%s is not a connection string such as postgres://user@host:5432/database; in a URL, write special characters of a password as %%2F, or set PGPASSWORD", from)
	}
	// A pooler may not know prepared statements, and each one is sent rarely.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.MaxConns, config.MinConns, config.MinIdleConns = 1, 0, 0
	return newWaitingPool(ctx, config, w)
}

// misread reports whether a password with a character such as '/' made a part of
// it the port or the database, which errors show.
func misread(s string) bool {
	_, rest, isURL := strings.Cut(s, "://")
	end := strings.IndexAny(rest, "/?#")
	return isURL && end >= 0 && strings.Contains(rest[end:], "@")
}

func (o *postgresFlags) open(ctx context.Context, table string, w *waits) (*store, error) {
	pool, err := o.pool(ctx, w)
	if err != nil {
		return nil, err
	}
	records, err := postgres.New(pool, table, &o.options)
	if err != nil {
		return nil, &ending{codeUsage, err}
	}
	c := &postgresCheck{pool: pool, table: table, options: &o.options}
	return &store{Operable: records, place: "table " + table, repair: c.repair, check: func(ctx context.Context, _ string, _ bool, found *findings) bool {
		c.findings = found
		return c.all(ctx)
	}, size: func(ctx context.Context) (is extent, err error) {
		name := pgx.Identifier{table}
		if o.options.Schema != "" {
			name = pgx.Identifier{o.options.Schema, table}
		}
		row, err := pool.Query(ctx, "SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass($1)", name.Sanitize())
		if err == nil {
			is.items, err = pgx.CollectExactlyOneRow(row, pgx.RowTo[int64])
		}
		return is, err
	}}, nil
}

const aboutPostgres = `
Creates the table of the records and its index in PostgreSQL, or checks the columns of
one that exists. Run it as a role that may create tables. The role of the functions needs
SELECT, INSERT, UPDATE and DELETE on the table. --print prints the statements and
connects to nothing: they are for a migration.

--dsql is for Aurora DSQL. The table is idempotency without --table and
$IDEMPOTENCY_TABLE. The connection is --postgres, as in all commands.
`

func initPostgres(ctx context.Context, c *call) error {
	var o storeFlags
	o.add(c.FlagSet)
	c.BoolVar(&o.postgres.options.DSQL, "dsql", false, "the database is Aurora DSQL")
	print := c.Bool("print", false, "print the statements, and run nothing")
	args, err := c.parse(1)
	switch {
	case err != nil:
		return err
	case len(args) == 0 || args[0] != "init":
		return endf(codeUsage, "give init: it is the only command of once postgres")
	case !*print && o.postgres.connection == "":
		return endf(codeUsage, "set --postgres to a connection string, or to env, or set --print")
	}
	o.postgres.connection = cmp.Or(o.postgres.connection, fromEnvironment) // for the check of the flags
	if err := o.check(c); err != nil {
		return err
	}
	statements, err := postgres.SQL(o.table, &o.postgres.options)
	switch {
	case err != nil:
		return &ending{codeUsage, err}
	case *print:
		_, err := fmt.Fprint(c.out, strings.Join(statements, ";\n"), ";\n")
		return err
	}
	pool, err := o.postgres.pool(ctx, &o.waits)
	if err != nil {
		return err
	}
	if err := postgres.CreateTable(ctx, pool, o.table, &o.postgres.options); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "table %s is there, with the columns that functions need\n", o.table)
	return err
}
