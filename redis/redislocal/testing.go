package redislocal

import (
	"context"
	"crypto/rand"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/internal/serving"
)

// TB is the part of testing.TB that this package uses.
type TB = serving.TB

// M is the part of *testing.M that this package uses.
type M = serving.M

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
	return serving.ForTest(t, o.start)
}

// Main runs the tests of a package against one server, which it finds or starts, and
// returns the code for os.Exit:
//
//	func TestMain(m *testing.M) { os.Exit(redislocal.Main(m, nil)) }
//
// Meanwhile the environment of the process contains the variable of [Server.Env].
func Main(m M, o *Options) (code int) {
	return serving.Main(m, o.start)
}

// start starts a server with the log of a test.
func (o *Options) start(ctx context.Context, test *serving.Options) (*Server, error) {
	var c Options
	if o != nil {
		c = *o
	}
	c.Log = test.Log
	return Start(ctx, &c)
}
