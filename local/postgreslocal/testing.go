package postgreslocal

import (
	"context"
	"io"

	"github.com/lambda-once/once/local/serving"
)

// TB is the part of testing.TB that this package uses, so that programs which import it
// do not link testing.
type TB interface {
	serving.TB
	Name() string
}

// M is the part of *testing.M that this package uses.
type M interface{ Run() int }

// NewDatabase returns the connection string of a new, empty database, which is dropped
// when the test ends.
//
// The server is the one named by POSTGRESLOCAL_URL, which [Main] and the command
// postgreslocal set. Without one, each call starts a server and stops it with the test,
// which takes a second or two.
func NewDatabase(t TB) (url string) {
	t.Helper()
	server := serving.ForTest(t, startWithLog)
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
	return serving.Main(m, startWithLog)
}

func startWithLog(ctx context.Context, log io.Writer) (*Server, error) {
	return Start(ctx, &Options{Log: log})
}
