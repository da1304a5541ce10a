package postgres

import (
	"crypto/rand"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent/storetest"
)

func TestConformance(t *testing.T) {
	schedules := 40
	if testing.Short() {
		schedules = 20
	}
	renamed := &Options{Schema: `od"d`, Columns: Columns{ID: "key", Status: "select", Lease: "Lease", Data: `da"ta`, Steps: "from"}}
	for _, c := range []struct {
		name    string
		options *Options
		change  func(*pgxpool.Config)
	}{
		{"defaults", nil, func(*pgxpool.Config) {}},
		{"renamed, without prepared statements", renamed, func(c *pgxpool.Config) {
			c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
		}},
		{"serializable, by the simple protocol", nil, func(c *pgxpool.Config) {
			c.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
			c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pool := newPool(t, c.change)
			if c.options != nil {
				execute(t, pool, "CREATE SCHEMA "+pgx.Identifier{c.options.Schema}.Sanitize())
			}
			effects := newEffects(t, pool)
			storetest.Run(t, func(t *testing.T) storetest.Harness {
				s := storeIn(t, pool, rand.Text(), c.options)
				return storetest.Harness{Store: s, Plant: s.plant, Attach: effects.attach, Schedules: schedules}
			})
		})
	}
}
