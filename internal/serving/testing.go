package serving

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/lambda-once/once/internal/fetch"
)

// timeout limits fetching and starting a server.
const timeout = fetch.Timeout + time.Minute

// TB is the part of testing.TB that the packages of servers use, so that programs which
// import them do not link testing.
type TB interface {
	Cleanup(func())
	Fatalf(format string, args ...any)
	Helper()
	Logf(format string, args ...any)
	Name() string
}

// M is the part of *testing.M that the packages of servers use.
type M interface{ Run() int }

// Tests are an [M] of a function, such as the Main of a package beside one more server.
type Tests func() int

// Run runs the tests.
func (t Tests) Run() int { return t() }

// ForTest returns a server that is stopped when the test ends. The log is the test's.
func ForTest[S Server](t TB, start Starter[S]) S {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	server, err := start(ctx, &Options{Log: Log(t)})
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Fatalf("stop the server: %v", err)
		}
	})
	return server
}

// Main runs the tests of a package against one server, with its variables in the
// environment of this process, and returns the code for os.Exit.
func Main[S Server](m M, start Starter[S]) (code int) {
	fail := func(err error) int {
		fmt.Fprintf(os.Stderr, "%v\n", err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	server, err := start(ctx, &Options{Log: os.Stderr})
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

// TestName returns the name of a test without the characters that tables and queues refuse,
// shortened to a number of bytes.
func TestName(t TB, most int) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, t.Name())
	return clean[:min(len(clean), most)]
}

// Log returns a writer to the log of a test.
func Log(t TB) io.Writer { return logWriter{t} }

type logWriter struct{ t TB }

func (w logWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}
