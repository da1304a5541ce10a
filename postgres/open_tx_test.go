package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// in returns a handler that runs fn in its transaction.
func in(fn func(ctx context.Context, tx pgx.Tx) error) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		tx, err := Transaction(ctx)
		if err == nil {
			err = fn(ctx, tx)
		}
		return "paid", err
	}
}

func one(c *pgxpool.Config) { c.MaxConns = 1 }

func adds(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, add, "a", 1)
	return err
}

// noneHeld requires that every connection is back in the pool, or closed, which takes
// the pool a moment.
func (b bench) noneHeld() {
	b.t.Helper()
	until(b.t, "the connections", func() bool { return b.pool.Stat().AcquiredConns() == 0 })
}

// contexts keeps those of the statements of a call.
type contexts struct {
	tracer
	of []context.Context
}

func (c *contexts) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if q.SQL == add {
		c.of = append(c.of, ctx)
	}
	return ctx
}

func TestTransactionKeepsTheContextOfOneStatement(t *testing.T) {
	seen := new(contexts)
	b := newBench(t, nil, nil, func(c *pgxpool.Config) { c.ConnConfig.Tracer = seen })
	_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
		for range 10 {
			check.Must(t, adds(ctx, tx))
		}
		for n, of := range seen.of[:9] {
			check.Failed(t, of.Err(), "the context is kept of statement", n)
		}
		return nil
	}))
	check.Nil(t, err)
	check.Equal(t, len(seen.of), 10)
	b.is("a", 10)
}

func TestRowsOfATransactionOutliveARefusedStatement(t *testing.T) {
	b := newBench(t, nil, nil)
	_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, "SELECT generate_series(1, 100000)")
		check.Must(t, err)
		check.Failed(t, adds(ctx, tx), "a statement beside open rows is sent")
		read, err := pgx.CollectRows(rows, pgx.RowTo[int])
		check.Equal(t, len(read), 100000)
		return err
	}))
	check.Nil(t, err)
}

func TestTransactionIsCommittedWithTheCompletion(t *testing.T) {
	for name, config := range map[string]*idempotent.Config{"claimed": nil, "optimistic": {Optimistic: true}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, config, nil)
			for range 3 {
				got, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
					again, err := Transaction(ctx)
					if err != nil || again.Conn() != tx.Conn() {
						t.Errorf("another transaction: %v", err)
					}
					var read int
					if err := tx.QueryRow(ctx, "SELECT count(*) FROM effects").Scan(&read); err != nil || read != 0 && config == nil {
						t.Errorf("read %d, %v", read, err)
					}
					return adds(ctx, tx)
				}))
				if err != nil || got != "paid" {
					t.Fatalf("%q, %v", got, err)
				}
			}
			b.is("a", 1)
			b.noneHeld()
		})
	}
}

// With one connection, no part of a call may wait for the connection of its own
// transaction.
func TestTransactionWithOneConnection(t *testing.T) {
	errNo := errors.New("no")
	for name, c := range map[string]struct {
		fn   func(ctx context.Context, tx pgx.Tx) error
		want int
	}{
		"success": {adds, 1},
		"an error": {func(ctx context.Context, tx pgx.Tx) error {
			return errors.Join(adds(ctx, tx), errNo)
		}, 0},
		"a permanent error": {func(ctx context.Context, tx pgx.Tx) error {
			return errors.Join(adds(ctx, tx), idempotent.Permanent(errNo))
		}, 0},
		"a panic": {func(ctx context.Context, tx pgx.Tx) error {
			defer panic("oh")
			return adds(ctx, tx)
		}, 0},
		"a failed statement": {func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, add, "a", -1)
			return err
		}, 0},
		"rows that stay open": {func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Query(ctx, "SELECT generate_series(1, 1000000)")
			return errors.Join(err, errNo)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, nil, one)
			func() {
				defer func() { _ = recover() }()
				_, _ = b.do(in(c.fn))
			}()
			b.noneHeld()
			b.is("a", c.want)
			if r := b.stored(); r.Owner != "" && r.Status == driver.InProgress {
				t.Error("the record is not released")
			}
		})
	}
}

func TestTransactionIsNotTheHandlersToEnd(t *testing.T) {
	b := newBench(t, nil, nil)
	_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
		for method, err := range map[string]error{"Commit": tx.Commit(ctx), "Rollback": tx.Rollback(ctx)} {
			if owned, ok := err.(*OwnedError); !ok || owned.Method != method {
				t.Errorf("%s: %v", method, err)
			}
		}
		// A savepoint is.
		kept, err := tx.Begin(ctx)
		if err != nil {
			return err
		}
		if err := errors.Join(adds(ctx, kept), kept.Commit(ctx)); err != nil {
			return err
		}
		undone, err := tx.Begin(ctx)
		if err != nil {
			return err
		}
		if _, err := undone.Exec(ctx, add, "a", -100); err == nil {
			t.Error("the constraint holds")
		}
		return errors.Join(undone.Rollback(ctx), adds(ctx, tx))
	}))
	check.Nil(t, err)
	b.is("a", 2)
}

func TestTransactionThatCannotBeCommitted(t *testing.T) {
	for name, c := range map[string]struct {
		fn   func(ctx context.Context, tx pgx.Tx)
		code string
	}{
		"a failed statement whose error is ignored": {func(ctx context.Context, tx pgx.Tx) { _, _ = tx.Exec(ctx, add, "secret", -1) }, "25P02"},
		"a COMMIT of the handler's":                 {func(ctx context.Context, tx pgx.Tx) { _, _ = tx.Exec(ctx, "ROLLBACK") }, CodeEnded},
		"open rows":                                 {func(ctx context.Context, tx pgx.Tx) { _, _ = tx.Query(ctx, "SELECT 1") }, CodeInUse},
		"a deferred constraint": {func(ctx context.Context, tx pgx.Tx) {
			_, _ = tx.Exec(ctx, "INSERT INTO checked_late VALUES ('secret'), ('secret')")
		}, "23505"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, nil)
			_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
				err := adds(ctx, tx)
				c.fn(ctx, tx)
				return err
			}))
			refusedFor(t, err, c.code, -1)
			b.is("a", 0)
			b.noneHeld()
			check.Equal(t, b.stored().Owner, "", "the record is not released")
		})
	}
}

// The handler did not cause a conflict at the commit: the attempt does not count.
func TestTransactionThatLosesAConflict(t *testing.T) {
	b := newBench(t, &idempotent.Config{MaxAttempts: 1}, nil)
	execute(t, b.pool, "INSERT INTO effects VALUES ('a', 0), ('b', 0)")
	runs := 0
	handler := in(func(ctx context.Context, tx pgx.Tx) error {
		var sum int
		if _, err := tx.Exec(ctx, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, "SELECT sum(n) FROM effects").Scan(&sum); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE effects SET n = $1 + 1 WHERE id = 'a'", sum); err != nil {
			return err
		}
		if runs++; runs > 1 {
			return nil
		}
		// A second transaction has read the same, and writes. This one fails at its COMMIT.
		other, err := b.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable})
		if err != nil {
			return err
		}
		_, err = other.Exec(ctx, "UPDATE effects SET n = (SELECT sum(n) FROM effects) + 1 WHERE id = 'b'")
		return errors.Join(err, other.Commit(ctx))
	})
	_, err := b.do(handler)
	if codeOf(err) != "40001" {
		t.Fatalf("%T: %v", err, err)
	}
	b.is("a", 0)
	if _, err := b.do(handler); err != nil || runs != 2 {
		t.Errorf("%d runs, %v", runs, err)
	}
	b.is("a", 2)
}

// The successor's effects count, and not those of the attempt that lost its lease.
func TestTransactionOfALostRecordIsRolledBack(t *testing.T) {
	for way, effect := range ways {
		t.Run(way, func(t *testing.T) {
			b := newBench(t, nil, nil)
			_, err := b.do(func(ctx context.Context) (string, error) {
				r := b.stored()
				next := driver.Change{Owner: "successor", Lease: time.Now().Add(time.Minute), Expires: r.Expires}
				if _, ok, err := b.Change(ctx, driver.Fence{ID: r.ID, Owner: r.Owner, Attempt: r.Attempt, Lease: r.Lease}, next); !ok || err != nil {
					return "", fmt.Errorf("take over: ok %v, %w", ok, err)
				}
				return "paid", effect(ctx, "a")
			})
			check.Is(t, err, idempotent.ErrLeaseLost)
			b.is("a", 0)
			b.noneHeld()
			if r := b.stored(); r.Owner != "successor" || r.Status != driver.InProgress {
				t.Errorf("the record has the status %q", r.Status)
			}
		})
	}
}

// The connection serves the next call by then.
func TestTransactionIsClosedAfterTheHandler(t *testing.T) {
	b := newBench(t, nil, nil)
	var tx, savepoint pgx.Tx
	_, err := b.do(in(func(ctx context.Context, own pgx.Tx) (err error) {
		tx = own
		savepoint, err = tx.Begin(ctx)
		return err
	}))
	check.Must(t, err)
	ctx := t.Context()
	for i, tx := range []pgx.Tx{tx, savepoint} {
		_, queried := tx.Query(ctx, "SELECT 1")
		_, executed := tx.Exec(ctx, "SELECT 1")
		_, begun := tx.Begin(ctx)
		_, prepared := tx.Prepare(ctx, "", "SELECT 1")
		_, copied := tx.CopyFrom(ctx, pgx.Identifier{"effects"}, nil, nil)
		for n, err := range []error{queried, executed, begun, prepared, copied, tx.Commit(ctx), tx.Rollback(ctx),
			tx.QueryRow(ctx, "SELECT 1").Scan(), tx.SendBatch(ctx, &pgx.Batch{}).Close()} {
			check.Is(t, err, pgx.ErrTxClosed, i, "call", n)
		}
		_ = tx.LargeObjects() // does not panic
		if tx.Conn() != nil {
			t.Error("the connection")
		}
	}
}

func TestTransactionBesideATxPanics(t *testing.T) {
	b := newBench(t, nil, nil)
	_, err := b.do(in(func(ctx context.Context, _ pgx.Tx) error {
		defer func() {
			p := fmt.Sprint(recover())
			check.Contains(t, p, "transaction of another kind", "both in one call")
			check.Lacks(t, p, "openTx", "it names a type that no user knows")
		}()
		Collect(ctx)
		return nil
	}))
	check.Nil(t, err)
}

func TestTransactionWithoutAConnection(t *testing.T) {
	b := newBench(t, nil, nil, one)
	taken := false
	_, err := b.do(func(ctx context.Context) (string, error) {
		conn, err := b.pool.Acquire(ctx)
		if err != nil {
			return "", err
		}
		defer conn.Release()
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		_, err = Transaction(short)
		taken = true
		return "", err
	})
	if failed, ok := err.(*Error); !ok || failed.Op != "Transaction" || !errors.Is(err, driver.ErrUnavailable) || !taken {
		t.Errorf("%T: %v", err, err)
	}
}

func TestRoundTripsOfATransaction(t *testing.T) {
	optimistic := &idempotent.Config{Optimistic: true}
	nothing := func(context.Context, pgx.Tx) error { return nil }
	for name, c := range map[string]struct {
		fn               func(context.Context) (string, error)
		config           *idempotent.Config
		first, duplicate int
		options          *Options
	}{
		"Tx":                      {func(ctx context.Context) (string, error) { return "", ways["Tx"](ctx, "a") }, nil, 2, 1, nil},
		"Tx, optimistic":          {func(ctx context.Context) (string, error) { return "", ways["Tx"](ctx, "a") }, optimistic, 1, 2, nil},
		"Transaction":             {in(nothing), nil, 3, 1, nil},
		"Transaction, optimistic": {in(nothing), optimistic, 2, 4, nil},
		"Transaction with two statements": {in(func(ctx context.Context, tx pgx.Tx) error {
			return errors.Join(adds(ctx, tx), adds(ctx, tx))
		}), nil, 5, 1, nil},
		// The first transaction of a connection reads its own timeouts.
		"Transaction with a timeout": {in(nothing), nil, 3, 1, &Options{TransactionTimeout: time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newNetwork(t)
			b := newBench(t, c.config, c.options, w.through, one)
			trips := func(id int) int { return w.count(func() { check.Nil(t, b.call(t.Context(), id, c.fn)) }) }
			trips(0)
			check.Equal(t, trips(1), c.first, "round trips of a first call")
			check.Equal(t, trips(1), c.duplicate, "round trips of a duplicate")
		})
	}
}
