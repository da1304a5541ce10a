package postgres

import (
	"crypto/rand"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/storetest"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/postgreslocal"
)

func TestConformance(t *testing.T) {
	schedules := 40
	if testing.Short() {
		schedules = 20
	}
	for _, c := range []struct {
		name    string
		options *Options
		change  func(*pgxpool.Config)
	}{
		{"defaults", nil, func(*pgxpool.Config) {}},
		{"in a schema, without prepared statements", &Options{Schema: `od"d`, Resume: true}, func(c *pgxpool.Config) {
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

func TestMain(m *testing.M) { os.Exit(postgreslocal.Main(m)) }

// A table without rows tells the server's time, too: a sweep takes it for its cutoff.
func TestEmptyTableTellsTheServersTime(t *testing.T) {
	pool := newPool(t, one, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["search_path"] = "tomorrow, pg_catalog, public" })
	execute(t, pool, "CREATE SCHEMA tomorrow",
		"CREATE FUNCTION tomorrow.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT pg_catalog.now() + interval '1 day' $$")
	s := newStore(t, pool, &Options{Schema: "public"})
	page, err := s.Scan(t.Context(), driver.Filter{}, "")
	if err != nil || time.Until(page.At) < 23*time.Hour {
		t.Errorf("Scan: %v, %v", page.At, err)
	}
	e, err := s.Inspect(t.Context(), "pay#1")
	if err != nil || e.ID != "" || time.Until(e.At) < 23*time.Hour {
		t.Errorf("Inspect: %v, %v", e.At, err)
	}
}

// Filter.Brief leaves out the results: what a record has in place of one, too.
func TestBriefScanLeavesOutPayloadAndReason(t *testing.T) {
	s := newStore(t, newPool(t), nil)
	for id, r := range map[string]driver.Record{"a": {Payload: "s3://bucket/of/a/customer"}, "b": {Unavailable: "too large"}} {
		r.ID, r.Status, r.Owner, r.Attempt, r.Expires = id, driver.Completed, "one", 1, time.Now().Add(time.Hour)
		if _, ok, err := s.Create(t.Context(), r, time.Now(), nil); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	page, err := s.Scan(t.Context(), driver.Filter{Brief: true}, "")
	check.Must(t, err)
	for _, e := range page.Entries {
		check.Equal(t, e.Payload, "", e.ID)
		check.Equal(t, e.Unavailable, "", e.ID)
	}
}
