package lambdaruntime_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/postgreslocal"
)

func TestWireCountsRoundTripsToPostgreSQL(t *testing.T) {
	database := postgreslocal.NewDatabase(t)
	wire := lambdaruntime.NewWire()
	url, err := wire.To("postgres", database)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // each in a connection of its own
		rows, err := postgreslocal.Run(t.Context(), url, "CREATE TABLE IF NOT EXISTS a (n int)", "-- ping",
			"WITH w AS (INSERT INTO a VALUES (7) RETURNING n) SELECT n FROM w", "no SQL")
		if err == nil || !strings.Contains(err.Error(), "42601") || len(rows) > 0 {
			t.Errorf("%q, %v", rows, err)
		}
	}
	rows, err := postgreslocal.Run(t.Context(), url, "SELECT n FROM a")
	if err != nil || !slices.EqualFunc(rows, [][]string{{"7"}, {"7"}}, slices.Equal) {
		t.Errorf("%q, %v", rows, err)
	}
	want := []string{"postgres create", "postgres insert", "postgres no"}
	if got := names(wire.Calls()); !slices.Equal(got, append(append(want, want...), "postgres select")) {
		t.Errorf("calls %q", got)
	}
	if err := wire.Close(); err != nil {
		t.Error(err)
	}
	if _, err := postgreslocal.Run(t.Context(), url); err == nil {
		t.Error("the wire is open after Close")
	}
}
