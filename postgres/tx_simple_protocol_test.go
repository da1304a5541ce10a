package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

func simple(c *pgxpool.Config) {
	c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
}

// With the simple protocol, PostgreSQL runs several statements in one addition. Their
// answers must not be taken for that of the COMMIT: nothing would say that it is done.
func TestTxWithSeveralStatementsInOneAddition(t *testing.T) {
	for name, c := range map[string]struct {
		config *idempotent.Config
		key    idempotent.Key
		known  bool
	}{
		"claimed":          {nil, theKey, true},
		"optimistic":       {&idempotent.Config{Optimistic: true}, theKey, true},
		"without a record": {&idempotent.Config{OnMissingKey: idempotent.RunMissingKey}, idempotent.Key{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.config, nil, simple)
			_, err := idempotent.Do(t.Context(), b.x, c.key, func(ctx context.Context) (string, error) {
				Collect(ctx).Exec("INSERT INTO effects VALUES ('a', 1); SELECT 1")
				return "paid", nil
			})
			if c.known && err != nil || !c.known && !errors.Is(err, idempotent.ErrOutcomeUnknown) {
				t.Errorf("%T: %v", err, err)
			}
			b.is("a", 1)
			b.noneHeld()
		})
	}
}

// Without preparation, pgx and PostgreSQL say less about a mistake.
func TestTxRefusedWithoutPreparation(t *testing.T) {
	for mode, m := range map[string]pgx.QueryExecMode{"simple": pgx.QueryExecModeSimpleProtocol, "exec": pgx.QueryExecModeExec} {
		for name, with := range map[string]func(*Tx){
			"no argument":         func(tx *Tx) { tx.Exec("DELETE FROM effects WHERE id = $1", struct{ secret func() }{}) },
			"an argument too few": func(tx *Tx) { tx.Exec("DELETE FROM effects WHERE id = $1 AND n = $2", "secret") },
			"a syntax error":      func(tx *Tx) { tx.Exec("INSERT 'secret'") },
		} {
			t.Run(mode+", "+name, func(t *testing.T) {
				b := newBench(t, nil, nil, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = m })
				_, err := b.do(func(ctx context.Context) (string, error) {
					Collect(ctx).Exec(add, "a", 1)
					with(Collect(ctx))
					return "", nil
				})
				if _, ok := err.(*TransactionError); !ok || strings.Contains(err.Error(), "secret") {
					t.Errorf("%T: %v", err, err)
				}
				b.is("a", 0)
				b.noneHeld()
				check.Equal(t, b.stored().Owner, "", "the record is not released")
			})
		}
	}
}
