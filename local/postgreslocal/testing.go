package postgreslocal

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/lambda-once/once/local/internal/fetch"
)

// TB is the part of testing.TB that this package uses, so that programs which import it
// do not link testing.
type TB interface {
	Cleanup(func())
	Fatalf(format string, args ...any)
	Helper()
	Logf(format string, args ...any)
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
	ctx, cancel := context.WithTimeout(context.Background(), fetch.Timeout+time.Minute)
	defer cancel()
	server, err := Start(ctx, &Options{Log: logWriter{t}})
	if err != nil {
		t.Fatalf("postgreslocal: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Fatalf("postgreslocal: stop: %v", err)
		}
	})
	url, err = server.NewDatabase(ctx, t.Name())
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
	fail := func(err error) int {
		fmt.Fprintf(os.Stderr, "%v\n", err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetch.Timeout+time.Minute)
	defer cancel()
	server, err := Start(ctx, &Options{Log: os.Stderr})
	if err != nil {
		return fail(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			code = fail(err)
		}
	}()
	for _, entry := range server.Env() {
		name, value, _ := strings.Cut(entry, "=")
		if err := os.Setenv(name, value); err != nil {
			return fail(err)
		}
	}
	return m.Run()
}

type logWriter struct{ t TB }

func (w logWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}
