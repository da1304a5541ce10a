// Package redislocal runs a real Valkey or Redis server for tests and benchmarks.
//
// In a test, one call opens a client, and a prefix for the keys of this test:
//
//	func TestMain(m *testing.M) { os.Exit(redislocal.Main(m, nil)) }
//
//	func TestPayment(t *testing.T) {
//		client, prefix := redislocal.NewClient(t)
//		…
//	}
//
// Start tries these servers in order:
//
//   - one that is running, at REDISLOCAL_ADDR, a host and port;
//   - valkey-server or redis-server on PATH;
//   - one from Debian's packages, where there is apt-get. They are fetched once for each
//     user, and unpacked into a cache without being installed. That needs no root;
//   - one started with Docker.
//
// Without any, Start fails with [ErrNoRuntime].
//
// A server listens on a random port of the loopback interface, needs no password, and
// stores everything in memory. It exits with the process that started it, even if that one
// is killed.
package redislocal
