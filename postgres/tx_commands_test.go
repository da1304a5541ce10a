package postgres

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/internal/check"
)

func TestCommandsThatEndATransactionAreRecognized(t *testing.T) {
	for sql, want := range map[string]bool{
		"COMMIT": true, "commit;": true, " \n;End": true, "ABORT": true, "rollback": true, "ROLLBACK WORK": true,
		"COMMIT AND CHAIN": true, "COMMIT; BEGIN": true, "ROLLBACK TRANSACTION AND CHAIN": true, "PREPARE TRANSACTION 'x'": true,
		"-- done\nCOMMIT": true, "-- done\rCOMMIT": true, ";; -- a\n ; COMMIT": true, "ROLLBACK -- to the start": true, "ROLLBACK /* to */ AND CHAIN": true,
		"ROLLBACK; -- to": true, "PREPARE -- both\nTRANSACTION 'x'": true, "PREPARE" + strings.Repeat(" ", 300) + "TRANSACTION 'x'": true,
		"ROLLBACK" + strings.Repeat(" ", 300) + "TO s": false, "ROLLBACK -- to\nTO s": false, "ROLLBACK /* a */ WORK -- b\n TO s": false, "commit_payment": false,
		"/* a /* b */ * / */ COMMIT": true, "--": false, "/* COMMIT": false, "/*": false, "": false,
		"ROLLBACK TO s": false, "rollback work to savepoint s": false, "ROLLBACK TRANSACTION TO s": false, "PREPARE s AS SELECT 1": false,
		"SAVEPOINT s": false, "SELECT 'COMMIT'": false, "UPDATE ends SET n = 1": false, "SELECT 1 /* COMMIT */": false, "-- COMMIT\nSELECT 1": false,
	} {
		check.Equal(t, endsTransaction(sql), want, sql)
	}
}

func TestLaterCommandsThatMayEndATransactionAreRecognized(t *testing.T) {
	for sql, want := range map[string]bool{
		"SELECT 1; COMMIT": true, "SELECT 1;commit;": true, "SELECT 1; /* ; */ End;": true, "SELECT 1; SELECT 2; ABORT; BEGIN": true,
		"SELECT 1; -- a\nROLLBACK": true, "SELECT 1;PREPARE TRANSACTION 'x'": true, "DO $$ BEGIN NULL; END $$": true, "SELECT ';', 'COMMIT'": true,
		"SELECT 1; SELECT 2": false, "UPDATE ends SET n = 1; SELECT commit_id FROM é_end": false, "SELECT CASE WHEN true THEN 1 END": false,
		"SELECT CASE WHEN true THEN 1 END ; \n": false, "": false, ";": false,
	} {
		check.Equal(t, mayEndTransaction(sql), want, sql)
	}
}

// protocols are those by which a pool sends a statement unless its call says otherwise.
var protocols = map[string]func(*pgxpool.Config){"extended": func(*pgxpool.Config) {}, "simple": simple}

// methods send a statement in a transaction.
var methods = map[string]func(ctx context.Context, tx pgx.Tx, sql string, args ...any) error{
	"Exec": func(ctx context.Context, tx pgx.Tx, sql string, args ...any) error {
		_, err := tx.Exec(ctx, sql, args...)
		return err
	},
	"Exec of a savepoint": func(ctx context.Context, tx pgx.Tx, sql string, args ...any) error {
		savepoint, err := tx.Begin(ctx)
		if err == nil {
			_, err = savepoint.Exec(ctx, sql, args...)
		}
		return err
	},
	"Query": func(ctx context.Context, tx pgx.Tx, sql string, args ...any) error {
		rows, err := tx.Query(ctx, sql, args...)
		rows.Close()
		return errors.Join(err, rows.Err())
	},
	"QueryRow": func(ctx context.Context, tx pgx.Tx, sql string, args ...any) error {
		err := tx.QueryRow(ctx, sql, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...).Scan()
		if err == pgx.ErrNoRows {
			return nil
		}
		return err
	},
	"SendBatch": func(ctx context.Context, tx pgx.Tx, sql string, args ...any) error {
		var b pgx.Batch
		b.Queue(sql, args...)
		return tx.SendBatch(ctx, &b).Close()
	},
}

// The statements before it would be committed without the record, or lost with it. PostgreSQL
// runs several commands that come by the simple protocol, and pgx uses it for an Exec
// without arguments, too.
func TestTransactionIsNotEndedByACommand(t *testing.T) {
	const first = "INSERT INTO effects VALUES ('b', 1)"
	commands := []string{"COMMIT", "-- done\rCOMMIT AND CHAIN", "ROLLBACK /* to the start */ AND CHAIN", first + "; COMMIT",
		first + "; COMMIT; BEGIN", first + "; ROLLBACK; BEGIN"}
	send := maps.Clone(methods)
	send["Exec by the simple protocol"] = func(ctx context.Context, tx pgx.Tx, sql string, _ ...any) error {
		return methods["Exec"](ctx, tx, sql, pgx.QueryExecModeSimpleProtocol, pgx.NamedArgs{})
	}
	send["Prepare"] = func(ctx context.Context, tx pgx.Tx, _ string, _ ...any) error {
		_, err := tx.Exec(ctx, first)
		if err == nil {
			_, err = tx.Prepare(ctx, "ends", "COMMIT")
		}
		if err == nil {
			_, err = tx.Exec(ctx, "ends")
		}
		return err
	}
	for protocol, change := range protocols {
		b := newBench(t, nil, nil, change)
		for _, sql := range commands {
			for method, send := range send {
				t.Run(protocol+", "+method+", "+sql, func(t *testing.T) {
					b := b.in(t)
					_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
						err := adds(ctx, tx)
						check.Failed(t, send(ctx, tx, sql), "it was sent")
						return err
					}))
					b.refused(err)
				})
			}
			t.Run(protocol+", Collect, "+sql, func(t *testing.T) {
				b := b.in(t)
				_, err := b.do(collects(addsOne, func(tx *Tx) {
					tx.Exec(sql)
					tx.Exec("SELECT 1 / 0")
				}))
				if failed := b.refused(err); failed != nil {
					check.Equal(t, failed.Index, 1)
				}
			})
		}
	}
}

// refused checks that a call has failed for its transaction, and that nothing of that is
// committed.
func (b bench) refused(err error) *TransactionError {
	b.t.Helper()
	failed, ok := err.(*TransactionError)
	check.True(b.t, ok, err)
	b.is("a", 0)
	b.is("b", 0)
	b.noneHeld()
	if r := b.stored(); r.Owner != "" || r.Status == "COMPLETED" {
		b.t.Error("the record is not released")
	}
	return failed
}

// The text around the statement contains an END that is not the handler's.
func TestTxThatNeedsARowMayContainASemicolon(t *testing.T) {
	for protocol, change := range protocols {
		t.Run(protocol, func(t *testing.T) {
			b := newBench(t, nil, nil, change)
			_, err := b.do(collects(addsOne, func(tx *Tx) {
				tx.Require(nil, "UPDATE effects SET n = 2 WHERE id <> ';'")
				tx.Check(nil, "SELECT 1 FROM effects WHERE id <> ';'")
			}))
			check.Nil(t, err)
			b.is("a", 2)
		})
	}
}

func TestTransactionRunsSeveralCommandsThatDoNotEndIt(t *testing.T) {
	const block = "DO $$ BEGIN UPDATE effects SET n = n + 1; END $$"
	for protocol, change := range protocols {
		t.Run(protocol, func(t *testing.T) {
			b := newBench(t, nil, nil, change)
			_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, "INSERT INTO effects VALUES ('a', 1); UPDATE effects SET n = 2"); err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, block); err != nil {
					return err
				}
				tag, err := tx.Exec(ctx, "UPDATE effects SET n = CASE WHEN $1 THEN n + 1 END WHERE id <> ';'", true)
				if err == nil && tag.String() != "UPDATE 1" {
					t.Errorf("got %s", tag)
				}
				var text string
				if err == nil {
					err = tx.QueryRow(ctx, "SELECT CASE WHEN $1 THEN 'a;b' END", true).Scan(&text)
				}
				if err == nil && text != "a;b" {
					t.Errorf("got %q", text)
				}
				return err
			}))
			check.Nil(t, err)
			b.is("a", 4)
			b.noneHeld()
		})
	}
}
