package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

func TestLaterCommandsThatMayEndATransactionAreRecognized(t *testing.T) {
	for sql, want := range map[string]bool{
		"SELECT 1; COMMIT": true, "SELECT 1;commit;": true, "SELECT 1; /* ; */ End;": true, "SELECT 1; SELECT 2; ABORT; BEGIN": true,
		"SELECT 1; -- a\nROLLBACK": true, "SELECT 1;PREPARE TRANSACTION 'x'": true, "DO $$ BEGIN NULL; END $$": true, "SELECT ';', 'COMMIT'": true,
		"SELECT 1; SELECT 2": false, "UPDATE ends SET n = 1; SELECT commit_id FROM é_end": false, "SELECT CASE WHEN true THEN 1 END": false,
		"SELECT CASE WHEN true THEN 1 END ; \n": false, "": false, ";": false,
	} {
		if got := mayEndTransaction(sql); got != want {
			t.Errorf("%q: %v", sql, got)
		}
	}
}

// protocols are those by which a pool sends a statement unless its call says otherwise.
var protocols = map[string]func(*pgxpool.Config){"extended": func(*pgxpool.Config) {}, "simple": simple}

// PostgreSQL runs several commands that come by the simple protocol, and pgx uses it for
// an Exec without arguments, too. A transaction that the handler has ended in this way,
// and perhaps begun again, would be committed without the record, or lost with it.
func TestTransactionIsNotEndedByALaterCommand(t *testing.T) {
	const first = "INSERT INTO effects VALUES ('a', 1)"
	send := map[string]func(ctx context.Context, tx pgx.Tx, sql string) error{
		"Exec": func(ctx context.Context, tx pgx.Tx, sql string) error {
			_, err := tx.Exec(ctx, sql)
			return err
		},
		"Exec by the simple protocol": func(ctx context.Context, tx pgx.Tx, sql string) error {
			_, err := tx.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol, pgx.NamedArgs{})
			return err
		},
		"Exec of a savepoint": func(ctx context.Context, tx pgx.Tx, sql string) error {
			savepoint, err := tx.Begin(ctx)
			if err == nil {
				_, err = savepoint.Exec(ctx, sql)
			}
			return err
		},
		"Query": func(ctx context.Context, tx pgx.Tx, sql string) error {
			rows, err := tx.Query(ctx, sql)
			rows.Close()
			return errors.Join(err, rows.Err())
		},
		"QueryRow": func(ctx context.Context, tx pgx.Tx, sql string) error {
			if err := tx.QueryRow(ctx, sql, pgx.QueryExecModeSimpleProtocol).Scan(); err != pgx.ErrNoRows {
				return err
			}
			return nil
		},
		"SendBatch": func(ctx context.Context, tx pgx.Tx, sql string) error {
			var b pgx.Batch
			b.Queue(sql)
			return tx.SendBatch(ctx, &b).Close()
		},
		"Prepare": func(ctx context.Context, tx pgx.Tx, _ string) error {
			_, err := tx.Exec(ctx, first)
			if err == nil {
				_, err = tx.Prepare(ctx, "ends", "COMMIT")
			}
			if err == nil {
				_, err = tx.Exec(ctx, "ends")
			}
			return err
		},
	}
	for protocol, change := range protocols {
		for method, send := range send {
			for _, rest := range []string{"; COMMIT", "; COMMIT; BEGIN", "; ROLLBACK; BEGIN"} {
				t.Run(protocol+", "+method+rest, func(t *testing.T) {
					b := newBench(t, nil, nil, change)
					_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
						if err := send(ctx, tx, first+rest); err == nil {
							t.Error("it was sent")
						}
						return nil
					}))
					b.refused(err)
				})
			}
		}
		for _, rest := range []string{"; COMMIT", "; COMMIT; BEGIN", "; ROLLBACK; BEGIN"} {
			t.Run(protocol+", Collect"+rest, func(t *testing.T) {
				b := newBench(t, nil, nil, change)
				_, err := b.do(func(ctx context.Context) (string, error) {
					Collect(ctx).Exec(first)
					Collect(ctx).Exec("UPDATE effects SET n = 2" + rest)
					Collect(ctx).Exec("SELECT 1 / 0")
					return "paid", nil
				})
				if failed := b.refused(err); failed != nil && failed.Index != 1 {
					t.Errorf("statement %d", failed.Index)
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
	if !ok {
		b.t.Errorf("%T: %v", err, err)
	}
	b.is("a", 0)
	b.noneHeld()
	if r := b.stored(); r.Owner != "" || r.Status == "COMPLETED" {
		b.t.Error("the record is not released")
	}
	return failed
}

// What makes it need a row has an END, which is not the handler's.
func TestTxThatNeedsARowMayContainASemicolon(t *testing.T) {
	for protocol, change := range protocols {
		t.Run(protocol, func(t *testing.T) {
			b := newBench(t, nil, nil, change)
			_, err := b.do(func(ctx context.Context) (string, error) {
				Collect(ctx).Exec(add, "a", 1)
				Collect(ctx).Require(nil, "UPDATE effects SET n = 2 WHERE id <> ';'")
				Collect(ctx).Check(nil, "SELECT 1 FROM effects WHERE id <> ';'")
				return "paid", nil
			})
			noError(t, err)
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
			noError(t, err)
			b.is("a", 4)
			b.noneHeld()
		})
	}
}
