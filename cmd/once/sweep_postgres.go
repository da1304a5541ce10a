package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/postgres"
)

// postgresFlags name a table of PostgreSQL.
type postgresFlags struct {
	connection string
	options    postgres.Options
}

const fromEnvironment = "env"

func (o *postgresFlags) add(f *flag.FlagSet) {
	f.StringVar(&o.connection, "postgres", "", "the `connection` string of PostgreSQL, or env; the table is idempotency without --table and $IDEMPOTENCY_TABLE")
	f.StringVar(&o.options.Schema, "schema", "", "the `name` of the table's schema, with --postgres")
	f.Func("column", "a renamed column as `name=column`, of attempt, data, expires, fingerprint, id, lease, owner, payload, refunds, status, steps and unavailable, with --postgres; repeatable", o.rename)
}

func (o *postgresFlags) rename(s string) error {
	c := &o.options.Columns
	name, to, _ := strings.Cut(s, "=")
	field, ok := map[string]*string{
		"attempt": &c.Attempt, "data": &c.Data, "expires": &c.Expires, "fingerprint": &c.Fingerprint, "id": &c.ID, "lease": &c.Lease,
		"owner": &c.Owner, "payload": &c.Payload, "refunds": &c.Refunds, "status": &c.Status, "steps": &c.Steps, "unavailable": &c.Unavailable,
	}[name]
	if !ok || to == "" {
		return errors.New("it is not name=column with a known name")
	}
	*field = to
	return nil
}

// check refuses flags of the other database, so that none is ignored.
func (o *postgresFlags) check(f *flag.FlagSet) error {
	wrong, reason := []string{"schema", "column"}, "needs --postgres"
	switch {
	case given(f, "postgres") && o.connection == "":
		return endf(codeUsage, "--postgres is empty; is a variable unset?")
	case o.connection != "":
		wrong = []string{"after", "attribute", "endpoint", "native", "partition", "profile", "region", "shards", "sort-key"}
		reason = "is for DynamoDB, and excludes --postgres"
	}
	for _, name := range wrong {
		if given(f, name) {
			return endf(codeUsage, "--%s %s", name, reason)
		}
	}
	return nil
}

// config parses the connection string. The text of pgx's error may contain a part
// of the password, so it is not printed.
func (o *postgresFlags) config() (*pgxpool.Config, error) {
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
	return config, nil
}

// misread reports whether a password with a character such as '/' made a part of
// it the port or the database, which errors show.
func misread(s string) bool {
	_, rest, isURL := strings.Cut(s, "://")
	end := strings.IndexAny(rest, "/?#")
	return isURL && end >= 0 && strings.Contains(rest[end:], "@")
}

// postgresSweep sweeps a table of PostgreSQL.
type postgresSweep struct {
	pool  *pgxpool.Pool
	store *postgres.Store
}

// open sends nothing: the first statement connects.
func (o *postgresFlags) open(ctx context.Context, table string) (sweeper, error) {
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	store, err := postgres.New(pool, table, &o.options)
	if err != nil {
		pool.Close()
		return nil, &ending{codeUsage, err}
	}
	return &postgresSweep{pool, store}, nil
}

func (d *postgresSweep) close() { d.pool.Close() }

func (d *postgresSweep) now(ctx context.Context) (now time.Time, err error) {
	if err = d.pool.QueryRow(ctx, "SELECT now()").Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("PostgreSQL: %w", err)
	}
	return now, nil
}

// sweepBatch is the number of records that Sweep deletes in one transaction.
const sweepBatch = 500

func (d *postgresSweep) sweep(ctx context.Context, s *swept, limit int, p *progress) (err error) {
	if s.DryRun {
		s.Records, err = d.store.CountExpired(ctx, s.Before, limit)
		s.Complete = err == nil && s.Records < limit
		return err
	}
	for s.Records < limit {
		if err := ctx.Err(); err != nil {
			return err
		}
		batch := min(limit-s.Records, sweepBatch)
		n, err := d.store.Sweep(context.WithoutCancel(ctx), s.Before, batch)
		s.Records += n
		if s.Complete = err == nil && n < batch; err != nil || s.Complete {
			return err
		}
		p.pages++
		p.swept = s.Records
		p.tell(s.Records)
	}
	return nil
}
