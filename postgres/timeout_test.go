package postgres

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

// counting counts the batches that a pool sends.
func counting(batches *atomic.Int32) func(*pgxpool.Config) {
	return func(c *pgxpool.Config) { c.ConnConfig.Tracer = tracer{batch: func() { batches.Add(1) }} }
}

// blocked locks the row a of the effects until the returned function is called.
func (b bench) blocked() (unlock func()) {
	b.t.Helper()
	tx, err := b.pool.Begin(b.t.Context())
	if err == nil {
		_, err = tx.Exec(b.t.Context(), "SELECT FROM effects WHERE id = 'a' FOR UPDATE")
	}
	check.Must(b.t, err)
	return func() {
		check.Nil(b.t, tx.Rollback(context.Background()))
	}
}

// It would time out again for as long as the call has time: the handler's own statement is
// slow, and only the caller knows whether to try again.
func TestCollectedStatementThatTimesOutIsSentOnce(t *testing.T) {
	for name, c := range map[string]struct {
		slow  func(tx *Tx)
		code  string
		index int
	}{
		"statement_timeout": {func(tx *Tx) {
			tx.Exec("SET LOCAL statement_timeout = 20")
			tx.Exec("SELECT pg_sleep(1000)")
		}, "57014", 1},
		"lock_timeout": {func(tx *Tx) {
			tx.Exec("SET LOCAL lock_timeout = 20")
			tx.Require(nil, "UPDATE effects SET n = n + 1 WHERE id = 'a'")
		}, "55P03", 1},
		"NOWAIT": {func(tx *Tx) { tx.Check(nil, "SELECT 1 FROM effects WHERE id = 'a' FOR UPDATE NOWAIT") }, "55P03", 0},
		"a constraint that is deferred": {func(tx *Tx) {
			tx.Exec("SET LOCAL lock_timeout = 20")
			tx.Exec("INSERT INTO slow VALUES (1)")
		}, "55P03", -1},
	} {
		t.Run(name, func(t *testing.T) {
			var batches atomic.Int32
			b := newBench(t, &idempotent.Config{MaxAttempts: 1, Lease: 5 * time.Second}, nil, counting(&batches))
			b.deferSlowly()
			unlock := b.blocked()
			_, err := b.do(collects(c.slow))
			refusedFor(t, err, c.code, c.index)
			check.Equal(t, batches.Load(), 1, "times sent")
			unlock()
			b.noneHeld()
			if _, err := b.do(func(ctx context.Context) (string, error) { return "paid", ways["Tx"](ctx, "a") }); err != nil {
				t.Errorf("the attempt counts: %v", err)
			}
			b.is("a", 1)
		})
	}
}

// deferSlowly creates the row a, and a table whose rows lock it at the COMMIT.
func (b bench) deferSlowly() {
	b.t.Helper()
	execute(b.t, b.pool,
		"INSERT INTO effects VALUES ('a', 0)",
		"CREATE TABLE slow (n int)",
		"CREATE FUNCTION waits() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM FROM effects WHERE id = 'a' FOR UPDATE; RETURN NULL; END $$",
		"CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION waits()",
	)
}

// The record's own write is not the handler's: it is sent again, as any other write.
func TestCompletionThatTimesOutIsSentAgain(t *testing.T) {
	var batches atomic.Int32
	b := newBench(t, nil, nil, func(c *pgxpool.Config) {
		counting(&batches)(c)
		c.ConnConfig.RuntimeParams["lock_timeout"] = "20"
	})
	_, err := b.do(func(ctx context.Context) (string, error) {
		lock, err := b.pool.Begin(ctx)
		if err == nil {
			_, err = lock.Exec(ctx, "SELECT FROM idempotency FOR UPDATE")
		}
		go func() {
			for batches.Load() < 2 {
				runtime.Gosched()
			}
			check.Nil(t, lock.Rollback(context.Background()))
		}()
		Collect(ctx).Exec(add, "a", 1)
		return "paid", err
	})
	check.Nil(t, err)
	b.is("a", 1)
}

// The handler has returned nil, and nothing was done: the attempt does not count.
func TestTransactionThatTimesOutAtItsCommitIsATransactionError(t *testing.T) {
	b := newBench(t, &idempotent.Config{MaxAttempts: 1}, nil)
	b.deferSlowly()
	unlock := b.blocked()
	_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SET LOCAL lock_timeout = 20")
		if err == nil {
			_, err = tx.Exec(ctx, "INSERT INTO slow VALUES (1)")
		}
		return err
	}))
	refusedFor(t, err, "55P03", -1)
	unlock()
	if _, err := b.do(in(adds)); err != nil {
		t.Errorf("the attempt counts: %v", err)
	}
	b.is("a", 1)
}
