package dynamodblocal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/lambda-once/once/local/internal/fetch"
	"github.com/lambda-once/once/local/internal/serving"
	"github.com/lambda-once/once/local/internal/supervise"
)

// ErrNoRuntime reports that neither Java 17 nor Docker is available.
var ErrNoRuntime = errors.New("dynamodblocal: neither Java 17 or newer nor Docker is usable")

// A NoRuntimeError is an [ErrNoRuntime] with its reasons.
type NoRuntimeError struct{ Java, Docker error }

func (e *NoRuntimeError) Error() string {
	return fmt.Sprintf("%v: Java: %v; Docker: %v", ErrNoRuntime, e.Java, e.Docker)
}

// Is reports whether target is ErrNoRuntime.
func (e *NoRuntimeError) Is(target error) bool { return target == ErrNoRuntime }

// Unwrap returns both reasons.
func (e *NoRuntimeError) Unwrap() []error { return []error{e.Java, e.Docker} }

// errPortTaken is the only error of a start that is retried.
var errPortTaken = errors.New("the port was taken")

func launch(ctx context.Context, c Options) (*Server, error) {
	java, noJava := findJava(ctx)
	if noJava == nil {
		dir, err := install(ctx, c)
		if err == nil {
			return start(ctx, c, func(port int) supervise.Command { return javaCommand(java, dir, port) })
		}
		// Docker fetches the same program in another way.
		docker, noDocker := findDocker(ctx)
		if noDocker != nil {
			return nil, fmt.Errorf("dynamodblocal: fetching: %w (and no Docker: %w)", err, noDocker)
		}
		return startDocker(ctx, c, docker)
	}
	docker, noDocker := findDocker(ctx)
	if noDocker != nil {
		return nil, &NoRuntimeError{Java: noJava, Docker: noDocker}
	}
	return startDocker(ctx, c, docker)
}

// start runs the command on a free port. Only one process starts a server at a time:
// two that chose the same port would share the tables of one server unknowingly.
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
		return nil, fmt.Errorf("dynamodblocal: start: %w", err)
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
	endpoint := fmt.Sprintf("http://127.0.0.1:%d", port)
	for {
		err := answers(ctx, endpoint)
		// The JVM continues if it cannot bind its port, and another server may
		// respond on it.
		if said.Contains("Address already in use") {
			return nil, errors.Join(errPortTaken, p.Kill())
		}
		if err == nil {
			return newServer(endpoint, p.Kill), nil
		}
		select {
		case <-p.Done():
			return nil, fmt.Errorf("it exited at once: %v\n%s", p.State(), &said)
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("it did not respond: %w\n%s", err, &said), p.Kill())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func freePort() (int, error) {
	// All interfaces, as the JVM will bind it.
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
