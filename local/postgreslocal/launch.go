package postgreslocal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/lambda-once/once/local/internal/fetch"
	"github.com/lambda-once/once/local/internal/serving"
	"github.com/lambda-once/once/local/internal/supervise"
)

// ErrNoRuntime reports that PostgreSQL is not installed and cannot be fetched, and that
// Docker is not available.
var ErrNoRuntime = errors.New("postgreslocal: no PostgreSQL 15 or newer is installed or fetchable, and Docker is not usable")

// A NoRuntimeError is an [ErrNoRuntime] with its reasons.
type NoRuntimeError struct{ Installed, Fetched, Docker error }

func (e *NoRuntimeError) Error() string {
	return fmt.Sprintf("%v: installed: %v; fetched: %v; Docker: %v", ErrNoRuntime, e.Installed, e.Fetched, e.Docker)
}

// Is reports whether target is ErrNoRuntime.
func (e *NoRuntimeError) Is(target error) bool { return target == ErrNoRuntime }

// Unwrap returns all reasons.
func (e *NoRuntimeError) Unwrap() []error { return []error{e.Installed, e.Fetched, e.Docker} }

// errPortTaken is the only error of a start that is retried.
var errPortTaken = errors.New("the port was taken")

// installedRoot is where Debian's packages put the programs.
const installedRoot = "/usr/lib/postgresql"

func launch(ctx context.Context, c Options) (*Server, error) {
	var none NoRuntimeError
	bin, err := findPrograms(ctx, installedRoot)
	if err != nil {
		none.Installed = err
		bin, err = install(ctx, c)
	}
	if err == nil {
		return startPrograms(ctx, c, bin)
	}
	none.Fetched = err
	docker, err := findDocker(ctx)
	if err != nil {
		none.Docker = err
		return nil, &none
	}
	return startDocker(ctx, c, docker)
}

// settings are those of a server whose data is worth nothing after the test. Everything
// that a client can observe is as in production.
var settings = []string{
	"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "wal_level=minimal", "-c", "max_wal_senders=0",
	"-c", "max_connections=300", "-c", "shared_buffers=64MB", "-c", "timezone=UTC",
}

// start runs the command on a free port. Only one process starts a server at a time:
// two that chose the same port would share one server unknowingly.
func start(ctx context.Context, c Options, command func(port int) supervise.Command) (*Server, error) {
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
		return nil, fmt.Errorf("postgreslocal: start: %w", err)
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
	url := fmt.Sprintf("postgres://%s@127.0.0.1:%d/postgres?sslmode=disable", superuser, port)
	for {
		err := execute(ctx, url)
		if said.Contains("Address already in use") {
			return nil, errors.Join(errPortTaken, p.Kill())
		}
		if err == nil {
			return &Server{url: url, stop: func() error { return shutDown(p) }}, nil
		}
		select {
		case <-p.Done():
			return nil, fmt.Errorf("it exited at once: %v\n%s", p.State(), &said)
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("it did not respond: %w\n%s", err, &said), p.Kill())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// shutDown asks for an immediate shutdown, in which the server removes its shared
// memory. It kills a server that does not exit.
func shutDown(p *supervise.Process) error {
	err := p.Signal(syscall.SIGQUIT)
	select {
	case <-p.Done():
	case <-time.After(10 * time.Second):
	}
	return errors.Join(err, p.Kill())
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// quoted makes one line of a program's output.
func quoted(out string) string { return strings.Join(strings.Fields(out), " ") }
