package postgres

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/postgreslocal"
)

const table = "idempotency"

// newPool returns a pool of connections to an empty database, with optional
// changes.
func newPool(t *testing.T, change ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	return poolTo(t, postgreslocal.NewDatabase(t), change...)
}

func poolTo(t *testing.T, url string, change ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	check.Must(t, err)
	config.MaxConns = 8
	for _, change := range change {
		change(config)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	check.Must(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// newStore returns a store in the table that most tests have.
func newStore(t *testing.T, db DB, o *Options) *Store {
	t.Helper()
	return storeIn(t, db, table, o)
}

// storeIn returns a store in a new table.
func storeIn(t *testing.T, db DB, table string, o *Options) *Store {
	t.Helper()
	check.Must(t, CreateTable(t.Context(), db, table, o))
	s, err := New(db, table, o)
	check.Must(t, err)
	return s
}

// plant writes a record as it is.
func (s *Store) plant(t *testing.T, r driver.Record) {
	t.Helper()
	l := s.layout
	check.Must(t, s.run(t, statement{"DELETE FROM " + l.table + ` WHERE "id" = $1`, []any{encodeText(r.ID)}}))
	if r.Status == driver.Absent {
		return
	}
	steps := r.Steps
	r.Steps = nil
	check.Must(t, s.run(t, l.create(r, time.Time{})))
	var encoded any
	if steps != nil {
		encoded = encodeSteps(steps)
	}
	check.Must(t, s.run(t, statement{"UPDATE " + l.table + ` SET "steps" = $2 WHERE "id" = $1`, []any{encodeText(r.ID), encoded}}))
}

func (s *Store) run(t *testing.T, st statement) error {
	t.Helper()
	rows, err := s.db.Query(t.Context(), st.sql, st.args...)
	if err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

// through returns a DB that calls before with the number and the text of each statement,
// before it is sent. A statement for which before returns an error is not sent.
func through(db DB, before func(n int, sql string) error) DB {
	return &observed{DB: db, before: before}
}

type observed struct {
	DB
	sent   atomic.Int64
	before func(n int, sql string) error
}

func (o *observed) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := o.before(int(o.sent.Add(1)), sql); err != nil {
		return nil, err
	}
	return o.DB.Query(ctx, sql, args...)
}

// A tracer is called for each statement, each batch, and each statement of a batch. Its
// functions may be nil.
type tracer struct {
	query   func(sql string)
	batch   func()
	batched func(sql string, args []any)
}

func (r tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if r.query != nil {
		r.query(q.SQL)
	}
	return ctx
}
func (tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (r tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	if r.batch != nil {
		r.batch()
	}
	return ctx
}
func (tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
func (r tracer) TraceBatchQuery(_ context.Context, _ *pgx.Conn, q pgx.TraceBatchQueryData) {
	if r.batched != nil {
		r.batched(q.SQL, q.Args)
	}
}

// execute runs statements.
func execute(t *testing.T, db DB, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		check.Must(t, exec(t.Context(), db, sql))
	}
}
