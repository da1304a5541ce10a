package redislocal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/lambda-once/once/local/serving"
	"github.com/lambda-once/once/local/supervise"
)

// ErrNoRuntime reports that no server is installed or fetchable, and that Docker is not
// available.
var ErrNoRuntime = errors.New("redislocal: neither valkey-server nor redis-server is installed or fetchable, and Docker is not usable")

// A NoRuntimeError is an [ErrNoRuntime] with its reasons.
type NoRuntimeError struct{ Installed, Fetched, Docker error }

func (e *NoRuntimeError) Error() string {
	return fmt.Sprintf("%v: installed: %v; fetched: %v; Docker: %v", ErrNoRuntime, e.Installed, e.Fetched, e.Docker)
}

func (e *NoRuntimeError) Is(target error) bool { return target == ErrNoRuntime }

func (e *NoRuntimeError) Unwrap() []error { return []error{e.Installed, e.Fetched, e.Docker} }

func launch(ctx context.Context, c config) (*Server, error) {
	var none NoRuntimeError
	p, err := findProgram(ctx)
	if err != nil {
		none.Installed = err
		p, err = install(ctx, c)
	}
	if err == nil {
		return startProgram(ctx, c, p)
	}
	none.Fetched = err
	docker, err := serving.FindDocker(ctx)
	if err == nil && c.sentinel != "" {
		err = errors.New("a Sentinel needs a program")
	}
	if err == nil {
		return startDocker(ctx, c, docker)
	}
	none.Docker = err
	if c.emulator == nil || c.args != nil || c.sentinel != "" {
		return nil, &none
	}
	return startEmulator(c, &none)
}

func startEmulator(c config, why error) (*Server, error) {
	if err := c.Logf("no real server, so the tests run against an emulator: %v", why); err != nil {
		return nil, err
	}
	addr, stop, err := c.emulator()
	if err != nil {
		return nil, fmt.Errorf("redislocal: %w", err)
	}
	return newServer(addr, true, stop), nil
}

const sentinelFile = "sentinel.conf"

// settings returns the arguments of a server whose data is worth nothing after the test.
func (c config) settings(port string) []string {
	listen := []string{"--bind", "127.0.0.1", "--port", port}
	if c.sentinel != "" {
		return append([]string{sentinelFile, "--sentinel"}, listen...)
	}
	return append(append(listen, "--save", "", "--appendonly", "no"), c.args...)
}

func startProgram(ctx context.Context, c config, p program) (*Server, error) {
	dir, err := os.MkdirTemp("", "once-redis-")
	if err != nil {
		return nil, fmt.Errorf("redislocal: %w", err)
	}
	if c.sentinel != "" {
		if err := os.WriteFile(filepath.Join(dir, sentinelFile), []byte(c.sentinel), 0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("redislocal: %w", err), os.RemoveAll(dir))
		}
	}
	addr, run, err := c.Start(ctx, func(port string) supervise.Command {
		return supervise.Command{
			Path:     p.path,
			Args:     c.settings(port),
			Env:      p.env(),
			Dir:      dir,
			Orphaned: []string{"/bin/rm", "-rf", dir},
		}
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return newServer(addr, false, func() error { return errors.Join(run.Kill(), os.RemoveAll(dir)) }), nil
}

const dockerImage = "valkey/valkey:8.1"

func startDocker(ctx context.Context, c config, docker string) (*Server, error) {
	addr, stop, err := c.StartImage(ctx, docker, serving.Image{
		Name:      dockerImage,
		Container: "once-redis-",
		// The container shares the network of the host: the nodes of a cluster
		// and replicas find each other by its ports.
		Args: func(port string) []string {
			return append([]string{"--network", "host", dockerImage, "valkey-server"}, c.settings(port)...)
		},
	})
	if err != nil {
		return nil, err
	}
	return newServer(addr, false, stop), nil
}

// answers connects before it asks the client, which logs each failure.
func answers(ctx context.Context, addr string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	if err := conn.Close(); err != nil {
		return err
	}
	_, err = look(ctx, addr)
	return err
}
