package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent/driver"
)

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
	must(t, err)
	for _, e := range page.Entries {
		if e.Payload != "" || e.Unavailable != "" {
			t.Errorf("%s: %q, %q", e.ID, e.Payload, e.Unavailable)
		}
	}
}
