package redislocal

import (
	"context"
	"crypto/rand"
	"io"

	"github.com/redis/go-redis/v9"

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
	c := valueOf(o)
	return serving.ForTest(t, c.start)
}

// Main runs the tests of a package against one server, which it finds or starts, and
// returns the code for os.Exit:
//
//	func TestMain(m *testing.M) { os.Exit(redislocal.Main(m, nil)) }
//
// Meanwhile the environment of the process contains the variable of [Server.Env].
func Main(m M, o *Options) (code int) {
	c := valueOf(o)
	return serving.Main(m, c.start)
}

func valueOf(o *Options) (c Options) {
	if o != nil {
		c = *o
	}
	return c
}

func (o *Options) start(ctx context.Context, log io.Writer) (*Server, error) {
	o.Log = log
	return Start(ctx, o)
}
