// Package dynamodblocal runs DynamoDB Local, Amazon's own emulator, for tests,
// benchmarks and the demo.
//
// In a test, one call creates a table:
//
//	func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }
//
//	func TestPayment(t *testing.T) {
//		client, table := dynamodblocal.NewTable(t)
//		…
//	}
//
// Start tries these servers in order:
//
//   - one that is running, at AWS_ENDPOINT_URL_DYNAMODB;
//   - one started with Java 17 or newer, from JAVA_HOME or PATH. The program is
//     fetched once for each user, in a pinned version with a pinned SHA-256:
//     Amazon's own archive (3.3.1) or, if that cannot be reached, the copy
//     (1.25.1) in an npm package of Amazon;
//   - one started with Docker, from the image pinned by its digest (3.3.1).
//
// With neither Java nor Docker, Start fails with [ErrNoRuntime].
//
// A server stores everything in memory. It exits with the process that started it,
// even if that one is killed. Under Java, it always listens on all interfaces, and
// contains only test data. With Docker the port is bound to the loopback interface.
//
// To let the tests of several packages share one server:
//
//	go run ./local/cmd/dynamodblocal -- go test ./...
package dynamodblocal
