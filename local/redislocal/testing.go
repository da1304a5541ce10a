package redislocal

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

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

// NewClient returns a client, and a prefix for the keys of this test.
//
// The server is the one named by REDISLOCAL_ADDR, which [Main] sets. Without one, each
// call starts a server and stops it with the test.
func NewClient(t TB) (client *redis.Client, prefix string) {
	t.Helper()
	return NewServer(t, nil).Client(), t.Name() + "-" + rand.Text() + ":"
}

// NewServer returns a server that is stopped when the test ends, unless it was found
// running.
func NewServer(t TB, o *Options) *Server {
	t.Helper()
	var c Options
	if o != nil {
		c = *o
	}
	c.Log = logWriter{t}
	ctx, cancel := context.WithTimeout(context.Background(), fetch.Timeout+time.Minute)
	defer cancel()
	server, err := Start(ctx, &c)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Fatalf("redislocal: stop: %v", err)
		}
	})
	return server
}

// Main runs the tests of a package against one server, which it finds or starts, and
// returns the code for os.Exit:
//
//	func TestMain(m *testing.M) { os.Exit(redislocal.Main(m)) }
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
