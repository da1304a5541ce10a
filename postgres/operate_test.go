package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/local/postgreslocal"
)

// A table without rows tells the server's time, too: a sweep takes it for its cutoff.
func TestEmptyTableTellsTheServersTime(t *testing.T) {
	config, err := pgxpool.ParseConfig(postgreslocal.NewDatabase(t))
	must(t, err)
	config.MaxConns = 1
	config.ConnConfig.RuntimeParams["search_path"] = "tomorrow, pg_catalog, public"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	must(t, err)
	t.Cleanup(pool.Close)
	for _, sql := range []string{
		"CREATE SCHEMA tomorrow",
		"CREATE FUNCTION tomorrow.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT pg_catalog.now() + interval '1 day' $$",
	} {
		_, err := pool.Exec(t.Context(), sql)
		must(t, err)
	}
	must(t, CreateTable(t.Context(), pool, "records", &Options{Schema: "public"}))
	s, err := New(pool, "records", &Options{Schema: "public"})
	must(t, err)
	page, err := s.Scan(t.Context(), driver.Filter{}, "")
	if err != nil || time.Until(page.At) < 23*time.Hour {
		t.Errorf("Scan: %v, %v", page.At, err)
	}
	e, err := s.Inspect(t.Context(), "pay#1")
	if err != nil || e.ID != "" || time.Until(e.At) < 23*time.Hour {
		t.Errorf("Inspect: %v, %v", e.At, err)
	}
}
