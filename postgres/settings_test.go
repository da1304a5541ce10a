package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

func TestReadOnlyTransactionOfTheHandlerIsItsMistake(t *testing.T) {
	b := newBench(t, nil, nil)
	_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SET TRANSACTION READ ONLY")
		return err
	}))
	refusedFor(t, err, "25006", -1)
	says(t, err, "remove SET TRANSACTION READ ONLY")
	b.noneHeld()
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
			says(t, err, "datestyle = 'ISO' and bytea_output = 'hex'")
		})
	}
}
