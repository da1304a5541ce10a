package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestTxOfAFailedHandlerIsNotSent(t *testing.T) {
	b := newBench(t, nil, nil)
	errNo := errors.New("no")
	_, err := b.do(func(ctx context.Context) (string, error) {
		Collect(ctx).Exec(add, "a", 1)
		return "", errNo
	})
	check.Equal(t, err, errNo)
	b.is("a", 0)
}

type poorError struct{}

func (*poorError) Error() string { return "too poor" }

func TestTxRefusedByItsStatements(t *testing.T) {
	poor := func(*TransactionError) error { return idempotent.Permanent(&poorError{}) }
	for name, c := range map[string]struct {
		with  func(*Tx)
		code  string
		index int
		final bool // the error is of the handler, and permanent
		mode  pgx.QueryExecMode
	}{
		"no row":               {func(tx *Tx) { tx.Require(nil, "UPDATE effects SET n = 0 WHERE id = 'nobody';") }, CodeNoRow, 1, false, 0},
		"no row, with a func":  {func(tx *Tx) { tx.Require(poor, "DELETE FROM effects WHERE id = $1 -- all", "nobody") }, CodeNoRow, 1, true, 0},
		"no row to check":      {func(tx *Tx) { tx.Check(poor, "SELECT FROM effects WHERE id = $1 FOR UPDATE", "nobody") }, CodeNoRow, 1, true, 0},
		"a nil error":          {func(tx *Tx) { tx.Check(func(*TransactionError) error { return nil }, "SELECT 1 WHERE false") }, CodeNoRow, 1, false, 0},
		"a panic":              {func(tx *Tx) { tx.Check(func(*TransactionError) error { panic("oh") }, "SELECT 1 WHERE false") }, CodeNoRow, 1, false, 0},
		"a constraint":         {func(tx *Tx) { tx.Exec(add, "secret", -1) }, "23514", 1, false, 0},
		"a constraint in need": {func(tx *Tx) { tx.Require(poor, add, "secret", -1) }, "23514", 1, false, 0},
		"a deferred constraint": {func(tx *Tx) {
			tx.Exec("INSERT INTO checked_late VALUES ('secret')")
			tx.Exec("INSERT INTO checked_late VALUES ('secret')")
		}, "23505", -1, false, 0},
		"a syntax error":      {func(tx *Tx) { tx.Exec("INSERT 'secret'") }, "42601", 1, false, 0},
		"no such table":       {func(tx *Tx) { tx.Exec("DELETE FROM nowhere") }, "42P01", 1, false, 0},
		"a wrong argument":    {func(tx *Tx) { tx.Exec(add, "secret", "secret") }, "22P02", 1, false, 0},
		"no argument":         {func(tx *Tx) { tx.Exec("DELETE FROM effects WHERE id = $1", struct{ secret func() }{}) }, CodeInvalid, 1, false, 0},
		"an argument too few": {func(tx *Tx) { tx.Exec("DELETE FROM effects WHERE id = $1 AND n = $2", "secret") }, CodeInvalid, 1, false, 0},
		// Without preparation, pgx and PostgreSQL say less about a mistake.
		"exec, no argument":           {func(tx *Tx) { tx.Exec("DELETE FROM effects WHERE id = $1", struct{ secret func() }{}) }, CodeInvalid, -1, false, pgx.QueryExecModeExec},
		"exec, an argument too few":   {func(tx *Tx) { tx.Exec("DELETE FROM effects WHERE id = $1 AND n = $2", "secret") }, "08P01", 1, false, pgx.QueryExecModeExec},
		"exec, a syntax error":        {func(tx *Tx) { tx.Exec("INSERT 'secret'") }, "42601", 1, false, pgx.QueryExecModeExec},
		"simple, no argument":         {func(tx *Tx) { tx.Exec("DELETE FROM effects WHERE id = $1", struct{ secret func() }{}) }, CodeInvalid, -1, false, pgx.QueryExecModeSimpleProtocol},
		"simple, an argument too few": {func(tx *Tx) { tx.Exec("DELETE FROM effects WHERE id = $1 AND n = $2", "secret") }, CodeInvalid, -1, false, pgx.QueryExecModeSimpleProtocol},
		"simple, a syntax error":      {func(tx *Tx) { tx.Exec("INSERT 'secret'") }, "42601", -1, false, pgx.QueryExecModeSimpleProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, nil, func(config *pgxpool.Config) {
				config.ConnConfig.DefaultQueryExecMode = cmp.Or(c.mode, pgx.QueryExecModeCacheStatement)
			})
			_, err := b.do(collects(addsOne, c.with))
			var refused *TransactionError
			switch {
			case c.final:
				if _, ok := err.(*poorError); !ok || b.stored().Status != driver.Failed {
					t.Errorf("%v, and the record is %q", err, b.stored().Status)
				}
			case !errors.As(err, &refused) || refused.Code != c.code || refused.Index != c.index || !errors.Is(err, ErrTransaction):
				t.Errorf("%T: %v", err, err)
			case strings.Contains(err.Error(), "secret"):
				t.Errorf("data in %q", err)
			case b.stored().Owner != "":
				t.Error("the record is not released")
			}
			b.is("a", 0)
			b.noneHeld()
			// The refusal leaves a connection that works.
			check.Nil(t, b.call(t.Context(), 2, collects(addsOne)))
			b.is("a", 1)
		})
	}
}

// The handler does not run again: only its collected statements are sent again.
func TestTxThatLosesAConflictIsSentAgain(t *testing.T) {
	b := newBench(t, nil, nil, func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["default_transaction_isolation"] = "repeatable read"
	})
	execute(t, b.pool, "INSERT INTO effects VALUES ('a', 0)")
	const calls = 8
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			runs := 0
			_, err := idempotent.Do(t.Context(), b.x, idempotent.Key{Record: fmt.Sprint("op#", i)}, func(ctx context.Context) (int, error) {
				runs++
				Collect(ctx).Exec("UPDATE effects SET n = n + 1 WHERE id = 'a' AND pg_sleep(0.02) IS NOT NULL")
				return 0, nil
			})
			check.Nil(t, err)
			check.Equal(t, runs, 1)
		})
	}
	wg.Wait()
	b.is("a", calls)
}

func TestTxIsOptimistic(t *testing.T) {
	b := newBench(t, &idempotent.Config{Optimistic: true}, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := b.do(collects(addsOne))
			check.Nil(t, err)
			check.Equal(t, got, "paid")
		})
	}
	wg.Wait()
	b.is("a", 1)
}

// An outage before anything is sent leaves no doubt.
func TestTxWithoutAConnectionIsNotWritten(t *testing.T) {
	b := newBench(t, &idempotent.Config{Optimistic: true, Lease: 2 * time.Second}, nil, one)
	conn, err := b.pool.Acquire(t.Context())
	check.Must(t, err)
	_, err = b.do(collects(addsOne))
	conn.Release()
	if failed, ok := err.(*idempotent.StoreError); !ok || !failed.RolledBack {
		t.Errorf("%T: %v", err, err)
	}
	b.is("a", 0)
}

// Nor does a deadline that has passed.
func TestTxAfterTheDeadlineIsNotWritten(t *testing.T) {
	b := newBench(t, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tx, value := b.attach(t, false)
	_, err := tx.Freeze()
	check.Must(t, err)
	_, ok, err := b.Create(ctx, driver.Record{ID: "op#1", Status: driver.Completed, Owner: "owner"}, time.Now(), tx)
	if ok || !errors.Is(err, driver.ErrNotWritten) || value() != 0 {
		t.Errorf("%v, %d effects, %v", ok, value(), err)
	}
}

func TestTxPanicsAfterTheHandler(t *testing.T) {
	b := newBench(t, nil, nil)
	var tx *Tx
	//oncevet:ignore txafter the test uses it late
	_, err := b.do(func(ctx context.Context) (string, error) { tx = Collect(ctx); return "", nil })
	check.Must(t, err)
	for name, late := range map[string]func(){
		"Exec":    func() { tx.Exec("SELECT 1") },
		"Require": func() { tx.Require(nil, "SELECT 1") },
		"Check":   func() { tx.Check(nil, "SELECT 1") },
	} {
		func() {
			defer func() { check.Contains(t, fmt.Sprint(recover()), "Tx."+name, name) }()
			late()
		}()
	}
}

// A Create that may have been executed is not repeated when its record may have been
// swept: nothing would fence the repetition.
func TestTxOfAnExpiredRecordIsNotSentAgain(t *testing.T) {
	w := newNetwork(t)
	b := newBench(t, nil, nil, w.through)
	tx := new(Tx)
	tx.Exec(add, "a", 1)
	_, err := (*collected)(tx).Freeze()
	check.Must(t, err)
	now := time.Now()
	r := driver.Record{ID: "op#1", Status: driver.Completed, Owner: "alice", Attempt: 1, Expires: now.Truncate(time.Second).Add(-time.Second)}
	w.losing("answer")
	if _, ok, err := b.Create(t.Context(), r, now, (*collected)(tx)); ok || !errors.Is(err, driver.ErrUnavailable) {
		t.Fatalf("ok %v, %v", ok, err)
	}
	execute(t, b.pool, "DELETE FROM idempotency")
	if _, ok, err := b.Create(t.Context(), r, now, (*collected)(tx)); ok || err == nil || errors.Is(err, driver.ErrNotWritten) {
		t.Errorf("ok %v, %v", ok, err)
	}
	b.is("a", 1)
}
