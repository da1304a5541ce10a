package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

// ends is a pgx.QueryRewriter that ends the transaction.
type ends struct{}

func (ends) RewriteQuery(context.Context, *pgx.Conn, string, []any) (string, []any, error) {
	return "COMMIT", nil, nil
}

// Its text would be sent unseen.
func TestTransactionRefusesARewriterOtherThanNamedArguments(t *testing.T) {
	b := newBench(t, nil, nil)
	for method, send := range methods {
		for place, args := range map[string][]any{"first": {ends{}}, "behind an option": {pgx.QueryExecModeExec, ends{}}} {
			t.Run(method+", "+place, func(t *testing.T) {
				b := b.in(t)
				_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
					check.Must(t, adds(ctx, tx))
					return send(ctx, tx, "SELECT 1", args...)
				}))
				if failed, ok := errors.AsType[*TransactionError](err); !ok || failed.Code != CodeInvalid {
					t.Errorf("%T: %v", err, err)
				}
				b.is("a", 0)
			})
		}
	}
	_, err := b.do(collects(addsOne, func(tx *Tx) { tx.Exec("SELECT 1", ends{}) }))
	refusedFor(t, err, CodeInvalid, 1)
	b.is("a", 0)
}

func TestTransactionTakesNamedArguments(t *testing.T) {
	for protocol, change := range protocols {
		t.Run(protocol, func(t *testing.T) {
			b := newBench(t, nil, nil, change)
			more := pgx.NamedArgs{"id": "a", "more": 1}
			const raise = "UPDATE effects SET n = n + @more WHERE id = @id;"
			_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
				check.Must(t, adds(ctx, tx))
				for _, send := range methods {
					check.Must(t, send(ctx, tx, raise, pgx.StrictNamedArgs(more)))
				}
				var n int
				err := tx.QueryRow(ctx, "SELECT n + @more FROM effects WHERE id = @id; ", more).Scan(&n)
				check.Equal(t, n, 2+len(methods))
				return err
			}))
			check.Nil(t, err)
			check.Nil(t, b.call(t.Context(), 2, collects(func(tx *Tx) {
				tx.Require(nil, raise, more)
				tx.Check(nil, "SELECT 1 FROM effects WHERE id = @id;", more)
			})))
			b.is("a", 2+len(methods))
			err = b.call(t.Context(), 3, collects(func(tx *Tx) { tx.Require(nil, raise, pgx.NamedArgs{"id": "nobody", "more": 1}) }))
			refusedFor(t, err, CodeNoRow, 0)
		})
	}
}

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
			_, err := idempotent.Do(t.Context(), b.x, c.key, collects(func(tx *Tx) { tx.Exec("INSERT INTO effects VALUES ('a', 1); SELECT 1") }))
			if c.known && err != nil || !c.known && !errors.Is(err, idempotent.ErrOutcomeUnknown) {
				t.Errorf("%T: %v", err, err)
			}
			b.is("a", 1)
			b.noneHeld()
		})
	}
}
