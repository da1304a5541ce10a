package redislocal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/internal/serving"
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
	if o == nil {
		o = &Options{}
	}
	s, err := start(ctx, kindOf(o.Args), &serving.Options{CacheDir: o.CacheDir, Log: o.Log, Timeout: o.Timeout})
	if err == nil || o.Emulator == nil || o.Args != nil || !errors.Is(err, ErrNoRuntime) {
		return s, err
	}
	if o.Log != nil {
		if _, err := fmt.Fprintf(o.Log, "no real server, so the tests run against an emulator: %v\n", err); err != nil {
			return nil, fmt.Errorf("redislocal: log: %w", err)
		}
	}
	addr, stop, err := o.Emulator()
	if err != nil {
		return nil, fmt.Errorf("redislocal: %w", err)
	}
	return newServer(addr, true, stop), nil
}

func start(ctx context.Context, k serving.Kind, o *serving.Options) (*Server, error) {
	addr, stop, err := k.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	emulated, err := look(ctx, addr)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("redislocal: %w", err), stop())
	}
	return newServer(addr, emulated, stop), nil
}

func newServer(addr string, emulated bool, stop func() error) *Server {
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, PoolSize: 64})
	return &Server{addr: addr, emulated: emulated, client: client,
		stop: sync.OnceValue(func() error { return errors.Join(client.Close(), stop()) })}
}

// answers connects before it asks the client, which logs each failure.
func answers(ctx context.Context, addr string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err == nil {
		err = conn.Close()
	}
	if err == nil {
		_, err = look(ctx, addr)
	}
	return err
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
	err = client.Info(ctx, "server").Err()
	if _, refused := errors.AsType[redis.Error](err); refused {
		return true, nil
	}
	return false, err
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
