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

// rewrites is a pgx.QueryRewriter. It returns its texts in turn.
type rewrites struct {
	texts []string
	args  []any
	err   error
}

func (r *rewrites) RewriteQuery(_ context.Context, _ *pgx.Conn, _ string, args []any) (string, []any, error) {
	sql := r.texts[0]
	r.texts = append(r.texts[1:], sql)
	return sql, append(args, r.args...), r.err
}

// The text that a rewriter returns is checked, because that one is sent.
func TestTransactionIsNotEndedByARewrittenCommand(t *testing.T) {
	for protocol, change := range protocols {
		shared := newBench(t, nil, nil, change)
		for _, method := range []string{"Exec", "Query", "SendBatch"} {
			for _, sql := range []string{"COMMIT", "COMMIT AND CHAIN", "SELECT 1; COMMIT; BEGIN", "SELECT 1; ROLLBACK; BEGIN"} {
				t.Run(protocol+", "+method+", "+sql, func(t *testing.T) {
					b := shared.in(t)
					_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
						if err := adds(ctx, tx); err != nil {
							return err
						}
						args := []any{&rewrites{texts: []string{sql}}}
						if method == "Query" { // which has options before and after it
							args = []any{pgx.QueryResultFormats{1}, args[0], pgx.QueryExecModeSimpleProtocol}
						}
						check.Failed(t, methods[method](ctx, tx, "", args...), "it was sent")
						return nil
					}))
					b.refused(err)
				})
			}
		}
		t.Run(protocol+", Collect", func(t *testing.T) {
			b := newBench(t, nil, nil, change)
			_, err := b.do(collects(addsOne, func(tx *Tx) {
				tx.Exec("", &rewrites{texts: []string{"COMMIT"}})
				tx.Exec("SELECT 1 / 0")
			}))
			if failed := b.refused(err); failed != nil && (failed.Code != CodeEnded || failed.Index != 1) {
				t.Errorf("%s of statement %d", failed.Code, failed.Index)
			}
		})
	}
}

func TestTransactionSendsWhatARewriterReturned(t *testing.T) {
	const set = "UPDATE effects SET n = $1"
	for protocol, change := range protocols {
		t.Run(protocol, func(t *testing.T) {
			b := newBench(t, nil, nil, change)
			once := func() pgx.QueryRewriter { return &rewrites{texts: []string{set, "COMMIT"}, args: []any{7}} }
			_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
				if err := adds(ctx, tx); err != nil {
					return err
				}
				tag, err := tx.Exec(ctx, "", pgx.QueryExecModeExec, once())
				check.Nil(t, err)
				check.Equal(t, tag.RowsAffected(), 1)
				var n int
				const sum = "SELECT n + @more FROM effects WHERE id = @id; "
				if err := tx.QueryRow(ctx, sum, pgx.NamedArgs{"id": "a", "more": 1}).Scan(&n); err != nil || n != 8 {
					t.Errorf("%d, %v", n, err)
				}
				var batch pgx.Batch
				batch.Queue("", once())
				batch.Queue("UPDATE effects SET n = n + @more", pgx.NamedArgs{"more": 2})
				return tx.SendBatch(ctx, &batch).Close()
			}))
			check.Nil(t, err)
			b.is("a", 9)
		})
		t.Run(protocol+", an error", func(t *testing.T) {
			b := newBench(t, nil, nil, change)
			failed := errors.New("no such query")
			_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "", &rewrites{texts: []string{set}, err: failed})
				return err
			}))
			check.Is(t, err, failed)
		})
	}
}

// The rewriter decides the statement, and not whether it needs a row.
func TestRewrittenStatementStillNeedsARow(t *testing.T) {
	for protocol, change := range protocols {
		for method, with := range map[string]func(*Tx, pgx.QueryRewriter){
			"Require": func(tx *Tx, by pgx.QueryRewriter) { tx.Require(nil, "", by) },
			"Check":   func(tx *Tx, by pgx.QueryRewriter) { tx.Check(nil, "", by) },
		} {
			for id, found := range map[string]bool{"a": true, "nobody": false} {
				t.Run(protocol+", "+method+", "+id, func(t *testing.T) {
					b := newBench(t, nil, nil, change)
					text := map[string]string{"Require": "UPDATE effects SET n = 5 WHERE id = $1;", "Check": "SELECT 1 FROM effects WHERE id = $1;"}[method]
					_, err := b.do(collects(func(tx *Tx) {
						tx.Exec(add, "a", 5)
						with(tx, &rewrites{texts: []string{text}, args: []any{id}})
					}))
					var failed *TransactionError
					if found != (err == nil) || !found && (!errors.As(err, &failed) || failed.Code != CodeNoRow || failed.Index != 1) {
						t.Errorf("%v", err)
					}
					b.is("a", map[bool]int{true: 5}[found])
				})
			}
		}
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
