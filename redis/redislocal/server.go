package redislocal

import (
	"context"
	"errors"
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
	// Args, a server of its own is started.
	Args []string
	// Log receives a line for each long step. Default: nothing is logged.
	Log io.Writer
}

// A Server is a running server.
type Server struct {
	addr   string
	client *redis.Client
	stop   func() error
}

// Start finds or starts a server, and returns when it responds. The context limits only
// the start. If o is nil, all defaults apply.
func Start(ctx context.Context, o *Options) (*Server, error) {
	if o == nil {
		o = &Options{}
	}
	return start(ctx, kindOf(o.Args), &serving.Options{Log: o.Log})
}

func start(ctx context.Context, k serving.Kind, o *serving.Options) (*Server, error) {
	addr, stop, err := k.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, PoolSize: 64})
	return &Server{addr: addr, client: client,
		stop: sync.OnceValue(func() error { return errors.Join(client.Close(), stop()) })}, nil
}

// answers connects before it asks the client, which logs each failure.
func answers(ctx context.Context, addr string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err == nil {
		err = conn.Close()
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1})
	defer client.Close()
	return client.Ping(ctx).Err()
}

// Addr returns the host and port of the server.
func (s *Server) Addr() string { return s.addr }

// Client returns a client of the server.
func (s *Server) Client() *redis.Client { return s.client }

// Env returns the environment variable with which [Start] finds the server in a child
// process.
func (s *Server) Env() []string { return []string{addrVar + "=" + s.addr} }

// Stop closes the client, stops the server, and waits until it has exited. It leaves a
// server alone that was found running. A second call does nothing.
func (s *Server) Stop() error { return s.stop() }
