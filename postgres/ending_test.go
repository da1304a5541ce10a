package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
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
		if got := endsTransaction(sql); got != want {
			t.Errorf("%q: %v", sql, got)
		}
	}
}

// Nothing of it may be committed: the retry would repeat it.
func TestTransactionIsNotEndedByACommand(t *testing.T) {
	for name, fn := range map[string]func(ctx context.Context) error{
		"Tx": func(ctx context.Context) error {
			tx := Collect(ctx)
			tx.Exec(add, "a", 1)
			tx.Exec("COMMIT")
			tx.Exec(add, "a", 1)
			return nil
		},
		"Exec": func(ctx context.Context) error {
			tx, err := Transaction(ctx)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "COMMIT; BEGIN"); err == nil {
				t.Error("Exec has run it")
			}
			return adds(ctx, tx)
		},
		"SendBatch": func(ctx context.Context) error {
			tx, err := Transaction(ctx)
			if err != nil {
				return err
			}
			var b pgx.Batch
			b.Queue(add, "a", 1)
			b.Queue("COMMIT")
			return tx.SendBatch(ctx, &b).Close()
		},
		"comments": func(ctx context.Context) error {
			tx, err := Transaction(ctx)
			if err != nil {
				return err
			}
			for _, sql := range []string{"-- done\rCOMMIT AND CHAIN", "ROLLBACK /* to the start */ AND CHAIN"} {
				if err := adds(ctx, tx); err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, sql); err == nil {
					t.Errorf("Exec has run %q", sql)
				}
			}
			return nil
		},
		"QueryRow": func(ctx context.Context) error {
			tx, err := Transaction(ctx)
			if err != nil {
				return err
			}
			err = adds(ctx, tx)
			if scanned := tx.QueryRow(ctx, "ROLLBACK").Scan(); !errors.Is(scanned, ErrTransaction) {
				t.Errorf("QueryRow: %v", scanned)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, nil)
			_, err := b.do(func(ctx context.Context) (string, error) { return "paid", fn(ctx) })
			if failed, ok := err.(*TransactionError); !ok || failed.Code != CodeEnded {
				t.Errorf("%T: %v", err, err)
			}
			b.is("a", 0)
			b.noneHeld()
			if r := b.stored(); r.Owner != "" || r.Status == "COMPLETED" {
				t.Error("the record is not released")
			}
		})
	}
}
