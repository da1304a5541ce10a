package lambdaruntime_test

import (
	"net"
	"net/url"
	"slices"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/postgreslocal"
)

func TestWireToPostgreSQL(t *testing.T) {
	t.Parallel()
	database := postgreslocal.NewDatabase(t)
	t.Run("counts round trips", func(t *testing.T) { countsRoundTrips(t, database) })
	t.Run("reports an encrypted connection", func(t *testing.T) { reportsAnEncryptedConnection(t, database) })
}

func countsRoundTrips(t *testing.T, database string) {
	wire := lambdaruntime.NewWire()
	to, err := wire.To("postgres", database)
	check.Must(t, err)
	for range 2 { // each in a connection of its own
		rows, err := postgreslocal.Run(t.Context(), to, "CREATE TABLE IF NOT EXISTS a (n int)", "-- ping",
			"WITH met AS (SELECT n FROM a), w AS (INSERT INTO a VALUES (7) RETURNING n) SELECT n FROM w", "WITH w AS (SELECT 1) SELECT * FROM w", "no SQL")
		check.Says(t, err, "42601")
		check.True(t, len(rows) <= 0, len(rows))
	}
	rows, err := postgreslocal.Run(t.Context(), to, "SELECT n FROM a")
	check.Nil(t, err)
	check.True(t, slices.EqualFunc(rows, [][]string{{"7"}, {"7"}}, slices.Equal))
	want := []string{"postgres create", "postgres insert", "postgres select", "postgres no"}
	check.Slice(t, names(wire.Calls()), append(append(want, want...), "postgres select"))
	check.Nil(t, wire.Close())
	_, err = postgreslocal.Run(t.Context(), to)
	check.Failed(t, err, "the wire is open after Close")
}

// Otherwise its calls would go uncounted.
func reportsAnEncryptedConnection(t *testing.T, database string) {
	wire := lambdaruntime.NewWire()
	to, err := wire.To("postgres", database)
	check.Must(t, err)
	u, err := url.Parse(to)
	check.Must(t, err)
	conn, err := net.Dial("tcp", u.Host)
	check.Must(t, err)
	defer conn.Close()
	if _, err := conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}); err != nil { // SSLRequest
		t.Fatal(err)
	}
	_, err = conn.Read(make([]byte, 1))
	check.Failed(t, err, "it is answered")
	err = wire.Close()
	check.Says(t, err, "sslmode=disable")
}
