// Package dynamodblocal runs the real DynamoDB Local, Amazon's own emulator,
// for tests, benchmarks and the demo.
//
// In a test one call gives a fresh table:
//
//	func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }
//
//	func TestPayment(t *testing.T) {
//		client, table := dynamodblocal.NewTable(t)
//		…
//	}
//
// A server is looked for in this order:
//
//   - one that runs already, at AWS_ENDPOINT_URL_DYNAMODB;
//   - one started with Java 17 or newer, from JAVA_HOME or PATH. The program
//     is fetched once for each user, in a pinned version with a pinned
//     SHA-256: Amazon's own archive (3.3.1) or, where that cannot be reached,
//     the copy (1.25.1) in an npm package of Amazon's;
//   - one started with Docker, from the image pinned by its digest (3.3.1).
//
// Where there is neither Java nor Docker, Start fails with [ErrNoRuntime].
//
// A server keeps everything in memory and ends with the process that started
// it, even if that one is killed. DynamoDB Local started by Java listens on
// all interfaces and cannot be told otherwise; it holds test data only. With
// Docker the port is bound to the loopback interface.
//
// To let the tests of several packages share one server:
//
//	go run ./local/cmd/dynamodblocal -- go test ./...
package dynamodblocal
