package postgreslocal

import (
	"context"

	"github.com/lambda-once/once/internal/serving"
)

// TB is the part of testing.TB that this package uses.
type TB = serving.TB

// M is the part of *testing.M that this package uses.
type M = serving.M

// NewDatabase returns the connection string of a new, empty database, which is dropped
// when the test ends.
//
// The server is the one named by POSTGRESLOCAL_URL, which [Main] and the command
// postgreslocal set. Without one, each call starts a server and stops it with the test,
// which takes a second or two.
func NewDatabase(t TB) (url string) {
	t.Helper()
	server := serving.ForTest(t, Start)
	url, err := server.NewDatabase(context.Background(), t.Name())
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if err := server.DropDatabase(context.Background(), url); err != nil {
			// The test may have stopped its server itself.
			t.Logf("%v", err)
		}
	})
	return url
}

// Main runs the tests of a package against one server, which it finds or starts, and
// returns the code for os.Exit:
//
//	func TestMain(m *testing.M) { os.Exit(postgreslocal.Main(m)) }
//
// Meanwhile the environment of the process contains the variable of [Server.Env].
func Main(m M) (code int) {
	return serving.Main(m, Start)
}
