package redislocal

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/local/serving"
)

const addrVar = "REDISLOCAL_ADDR"

// Options are the options of [Start]. A field with its zero value has its default.
type Options struct {
	// Args are further arguments of the server, such as "--maxmemory", "10mb". With
	// Args, a server of its own is started, and never the emulator.
	Args []string
	// CacheDir is the directory of the fetched programs. Default: once/redis in
	// os.UserCacheDir.
	CacheDir string
	// Emulator starts an emulator in this process if there is no real server, and
	// returns its address. Default: none, so that [Start] fails.
	Emulator func() (addr string, stop func() error, err error)
	// Log receives a line for each long step. Default: nothing is logged.
	Log io.Writer
	// Timeout limits the start of the server without fetching. Default: one
	// minute.
	Timeout time.Duration
}

// A config is how a server is started.
type config struct {
	serving.Launch
	args     []string                             // of Options
	emulator func() (string, func() error, error) // of Options, or nil
	sentinel string                               // the configuration of a Sentinel, or ""
}

func (o *Options) withDefaults() (c config, err error) {
	if o == nil {
		o = &Options{}
	}
	c.args, c.emulator = o.Args, o.Emulator
	c.Launch, err = serving.Launch{
		Package: "redislocal", CacheDir: o.CacheDir, Log: o.Log, Timeout: o.Timeout, Answers: answers,
	}.WithDefaults("redis")
	return c, err
}

// A Server is a running server, or the emulator.
type Server struct {
	addr     string
	client   *redis.Client
	emulated bool
	stop     func() error
}

// Start finds or starts a server, and returns when it responds. The context limits only
// the start. If o is nil, all defaults apply.
func Start(ctx context.Context, o *Options) (*Server, error) {
	c, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if addr := os.Getenv(addrVar); addr != "" && c.args == nil {
		emulated, err := look(ctx, addr)
		if err == nil {
			return newServer(addr, emulated, func() error { return nil }), nil
		}
		if err := c.Logf("%s=%s does not respond (%v): starting a server", addrVar, addr, err); err != nil {
			return nil, err
		}
	}
	return launch(ctx, c)
}

func newServer(addr string, emulated bool, stop func() error) *Server {
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, PoolSize: 64})
	return &Server{addr: addr, emulated: emulated, client: client,
		stop: sync.OnceValue(func() error { return errors.Join(client.Close(), stop()) })}
}

// look reports whether the server at addr is the emulator, which knows hardly any
// section of INFO.
func look(ctx context.Context, addr string) (emulated bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1})
	defer client.Close()
	if err := client.Ping(ctx).Err(); err != nil {
		return false, err
	}
	return client.Info(ctx, "server").Err() != nil, nil
}

// Addr returns the host and port of the server.
func (s *Server) Addr() string { return s.addr }

// Client returns a client of the server.
func (s *Server) Client() *redis.Client { return s.client }

// Emulated reports whether the server is the emulator.
func (s *Server) Emulated() bool { return s.emulated }

// Env returns the environment variable with which [Start] finds the server in a child
// process.
func (s *Server) Env() []string { return []string{addrVar + "=" + s.addr} }

// Stop closes the client, stops the server, and waits until it has exited. It leaves a
// server alone that was found running. A second call does nothing.
func (s *Server) Stop() error { return s.stop() }
