package lambdaruntime_test

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/postgreslocal"
)

func TestWireCountsRoundTripsToPostgreSQL(t *testing.T) {
	database := postgreslocal.NewDatabase(t)
	wire := lambdaruntime.NewWire()
	to, err := wire.To("postgres", database)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // each in a connection of its own
		rows, err := postgreslocal.Run(t.Context(), to, "CREATE TABLE IF NOT EXISTS a (n int)", "-- ping",
			"WITH w AS (INSERT INTO a VALUES (7) RETURNING n) SELECT n FROM w", "no SQL")
		if err == nil || !strings.Contains(err.Error(), "42601") || len(rows) > 0 {
			t.Errorf("%q, %v", rows, err)
		}
	}
	rows, err := postgreslocal.Run(t.Context(), to, "SELECT n FROM a")
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
	if _, err := postgreslocal.Run(t.Context(), to); err == nil {
		t.Error("the wire is open after Close")
	}
}

// Otherwise its calls would go uncounted.
func TestWireReportsAnEncryptedConnection(t *testing.T) {
	wire := lambdaruntime.NewWire()
	to, err := wire.To("postgres", postgreslocal.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}); err != nil { // SSLRequest
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("it is answered")
	}
	if err := wire.Close(); err == nil || !strings.Contains(err.Error(), "sslmode=disable") {
		t.Error(err)
	}
}
