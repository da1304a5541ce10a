package store

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/postgres"
)

type postgresFlags struct {
	Connection string
	Options    postgres.Options
	// Connections are those that a command may have at a time, without it one. A connection
	// that was silent takes its place for some seconds more.
	Connections int32
}

// FromEnvironment stands for the connection that variables name.
const FromEnvironment = "env"

func (o *postgresFlags) add(f *flag.FlagSet) {
	f.StringVar(&o.Connection, "postgres", "", "the `connection` string of PostgreSQL, or env for $DATABASE_URL or PGHOST, PGPASSWORD and so on; the table is idempotency without --table and $IDEMPOTENCY_TABLE")
	f.StringVar(&o.Options.Schema, "schema", "", "the `name` of the table's schema, with --postgres")
}

// Pool opens a pool of one connection, unless there may be more. It sends nothing. The text of pgx's error may
// contain a part of the password, so it is not printed.
func (o *postgresFlags) Pool(ctx context.Context, w *Waits) (*waitingPool, error) {
	s, from := o.Connection, "--postgres"
	if s == FromEnvironment {
		s, from = os.Getenv("DATABASE_URL"), "DATABASE_URL, or PGHOST and so on,"
		if s == "" && !slices.ContainsFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PG") }) {
			// pgx would take some database of this machine.
			return nil, cli.Endf(cli.CodeUsage, "--postgres env: set DATABASE_URL, or PGHOST and so on")
		}
	}
	config, err := pgxpool.ParseConfig(s)
	if err != nil || misread(s) {
		return nil, cli.Endf(cli.CodeUsage, "%s is not a connection string such as postgres://user@host:5432/database; in a URL, write special characters of a password as %%2F, or set PGPASSWORD", from)
	}
	// A pooler may not know prepared statements, and each one is sent rarely.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.MaxConns, config.MinConns, config.MinIdleConns = max(o.Connections, 1), 0, 0
	return newWaitingPool(ctx, config, w)
}

// misread reports whether a password with a character such as '/' made a part of
// it the port or the database, which errors show.
func misread(s string) bool {
	_, rest, isURL := strings.Cut(s, "://")
	end := strings.IndexAny(rest, "/?#")
	return isURL && end >= 0 && strings.Contains(rest[end:], "@")
}

func (o *postgresFlags) open(ctx context.Context, table string, w *Waits) (*Store, error) {
	pool, err := o.Pool(ctx, w)
	if err != nil {
		return nil, err
	}
	records, err := postgres.New(pool, table, &o.Options)
	if err != nil {
		return nil, cli.Misuse(err)
	}
	t := &PostgresTable{pool, table, &o.Options}
	return &Store{Operable: records, Place: "table " + table, Behind: t}, nil
}

type PostgresTable struct {
	Pool    *waitingPool
	Name    string
	Options *postgres.Options
}

func (t *PostgresTable) Where(context.Context) (string, error) {
	return fmt.Sprintf("%s in %s, database %s", t.Quoted(), t.Pool.server.host, t.Pool.Config().ConnConfig.Database), nil
}

func (t *PostgresTable) Quoted() string {
	name := pgx.Identifier{t.Options.Schema, t.Name}
	if t.Options.Schema == "" {
		name = name[1:]
	}
	return name.Sanitize()
}

func (t *PostgresTable) size(ctx context.Context) (is extent, err error) {
	row, err := t.Pool.Query(ctx, "SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass($1)", t.Quoted())
	if err == nil {
		is.items, err = pgx.CollectExactlyOneRow(row, pgx.RowTo[int64])
	}
	return is, err
}
