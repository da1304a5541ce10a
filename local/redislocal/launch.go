package redislocal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/lambda-once/once/local/internal/fetch"
	"github.com/lambda-once/once/local/internal/serving"
	"github.com/lambda-once/once/local/internal/supervise"
)

// ErrNoRuntime reports that no server is installed or fetchable, and that Docker is not
// available.
var ErrNoRuntime = errors.New("redislocal: neither valkey-server nor redis-server is installed or fetchable, and Docker is not usable")

// A NoRuntimeError is an [ErrNoRuntime] with its reasons.
type NoRuntimeError struct{ Installed, Fetched, Docker error }

func (e *NoRuntimeError) Error() string {
	return fmt.Sprintf("%v: installed: %v; fetched: %v; Docker: %v", ErrNoRuntime, e.Installed, e.Fetched, e.Docker)
}

// Is reports whether target is ErrNoRuntime.
func (e *NoRuntimeError) Is(target error) bool { return target == ErrNoRuntime }

// Unwrap returns all reasons.
func (e *NoRuntimeError) Unwrap() []error { return []error{e.Installed, e.Fetched, e.Docker} }

func launch(ctx context.Context, c Options) (*Server, error) {
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
	docker, err := findDocker(ctx)
	if err == nil && c.sentinel != "" {
		err = errors.New("a Sentinel needs a program")
	}
	if err == nil {
		return startDocker(ctx, c, docker)
	}
	none.Docker = err
	if c.Args != nil || c.sentinel != "" || os.Getenv(realVar) != "" {
		return nil, &none
	}
	return startEmulator(c, &none)
}

func startEmulator(c Options, why error) (*Server, error) {
	if err := c.logf("no real server, so the tests run against miniredis, an emulator: %v", why); err != nil {
		return nil, err
	}
	m, err := miniredis.Run()
	if err != nil {
		return nil, fmt.Errorf("redislocal: %w", err)
	}
	return newServer(m.Addr(), true, func() error { m.Close(); return nil }), nil
}

const sentinelFile = "sentinel.conf"

// settings returns the arguments of a server whose data is worth nothing after the test.
func (c Options) settings(port int) []string {
	listen := []string{"--bind", "127.0.0.1", "--port", strconv.Itoa(port)}
	if c.sentinel != "" {
		return append([]string{sentinelFile, "--sentinel"}, listen...)
	}
	return append(append(listen, "--save", "", "--appendonly", "no"), c.Args...)
}

func startProgram(ctx context.Context, c Options, p program) (*Server, error) {
	dir, err := os.MkdirTemp("", "once-redis-")
	if err != nil {
		return nil, fmt.Errorf("redislocal: %w", err)
	}
	if c.sentinel != "" {
		if err := os.WriteFile(filepath.Join(dir, sentinelFile), []byte(c.sentinel), 0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("redislocal: %w", err), os.RemoveAll(dir))
		}
	}
	s, err := start(ctx, c, func(port int) supervise.Command {
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
	stop := s.stop
	s.stop = sync.OnceValue(func() error { return errors.Join(stop(), os.RemoveAll(dir)) })
	return s, nil
}

// errPortTaken is the only error of a start that is retried.
var errPortTaken = errors.New("the port was taken")

// start runs the command on a free port. Only one process starts a server at a time:
// two that chose the same port would share one server unknowingly.
func start(ctx context.Context, c Options, command func(port int) supervise.Command) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	unlock, err := fetch.Lock(ctx, filepath.Join(c.CacheDir, "start.lock"))
	if err != nil {
		return nil, err
	}
	var s *Server
	for range 3 {
		s, err = startOnce(ctx, command)
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err := errors.Join(err, unlock()); err != nil {
		return nil, fmt.Errorf("redislocal: start: %w", err)
	}
	return s, nil
}

func startOnce(ctx context.Context, command func(port int) supervise.Command) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd := command(port)
	var said serving.Tail
	cmd.Output = &said
	p, err := supervise.Start(cmd)
	if err != nil {
		return nil, err
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	for {
		err := answers(ctx, addr)
		if said.Contains("Address already in use") {
			return nil, errors.Join(errPortTaken, p.Kill())
		}
		if err == nil {
			return newServer(addr, false, p.Kill), nil
		}
		select {
		case <-p.Done():
			return nil, fmt.Errorf("it exited at once: %v\n%s", p.State(), &said)
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("it did not respond: %w\n%s", err, &said), p.Kill())
		case <-time.After(5 * time.Millisecond):
		}
	}
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

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// quoted makes one line of a program's output.
func quoted(out []byte) string { return strings.Join(strings.Fields(string(out)), " ") }
