package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestReadOnlyTransactionOfTheHandlerIsItsMistake(t *testing.T) {
	b := newBench(t, nil, nil)
	_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SET TRANSACTION READ ONLY")
		return err
	}))
	refusedFor(t, err, "25006", -1)
	check.Says(t, err, "remove SET TRANSACTION READ ONLY")
	b.noneHeld()
}

// The server has refused the write, so the outcome of the call is known.
func TestOptimisticCallOnAReadOnlyServerWritesNothing(t *testing.T) {
	s := newStore(t, newPool(t), nil)
	replica := &Store{layout: s.layout, db: through(s.db, func(int, string) error {
		return &pgconn.PgError{Severity: "ERROR", Code: readOnlyCode}
	})}
	x := executor(t, replica, &idempotent.Config{Optimistic: true, Lease: 400 * time.Millisecond, Reserve: 100 * time.Millisecond})
	_, err := idempotent.Do(t.Context(), x, theKey, func(context.Context) (string, error) { return "done", nil })
	failed, ok := errors.AsType[*idempotent.StoreError](err)
	if !ok {
		t.Fatalf("%T: %v", err, err)
	}
	check.Equal(t, failed.RolledBack, true, "nothing is written")
	check.Says(t, err, "connect to the primary")
}

// Each write goes through a trigger, as one for audits does that forgets to return the row.
func TestWriteThatATriggerSuppressesIsNamed(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, nil)
	create(t, s, claim("held", owner))
	execute(t, pool,
		`CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
		`CREATE TRIGGER forget BEFORE INSERT OR UPDATE ON idempotency FOR EACH ROW EXECUTE FUNCTION forget()`,
	)
	_, ok, err := s.Create(t.Context(), claim("new", owner), now, nil)
	check.Equal(t, ok, false, "granted")
	advises(t, err, kinds{}, "")
	check.Says(t, err, "look for a trigger")
	_, _, err = s.Change(t.Context(), driver.Fence{ID: "held", Owner: owner}, complete("1"))
	check.Says(t, err, "look for a trigger")
}

// Without prepared statements, values arrive as text in the form that the connection asks
// for.
func TestSettingsThatBreakTheTextOfValuesAreNamed(t *testing.T) {
	for name, value := range map[string]string{"datestyle": "German", "bytea_output": "escape"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, nil, func(c *pgxpool.Config) {
				c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
				c.ConnConfig.RuntimeParams[name] = value
			})
			var err error
			for range 2 { // a first call may read no bytes, and its duplicate reads the result
				if err == nil {
					_, err = b.do(func(context.Context) (string, error) { return "done", nil })
				}
			}
			check.Says(t, err, "datestyle = 'ISO' and bytea_output = 'hex'")
		})
	}
}
