package postgreslocal

import (
	"context"
	"errors"
	"fmt"

	"github.com/lambda-once/once/local/serving"
)

// ErrNoRuntime reports that PostgreSQL is not installed and cannot be fetched, and that
// Docker is not available.
var ErrNoRuntime = errors.New("postgreslocal: no PostgreSQL 15 or newer is installed or fetchable, and Docker is not usable")

// A NoRuntimeError is an [ErrNoRuntime] with its reasons.
type NoRuntimeError struct{ Installed, Fetched, Docker error }

func (e *NoRuntimeError) Error() string {
	return fmt.Sprintf("%v: installed: %v; fetched: %v; Docker: %v", ErrNoRuntime, e.Installed, e.Fetched, e.Docker)
}

func (e *NoRuntimeError) Is(target error) bool { return target == ErrNoRuntime }

func (e *NoRuntimeError) Unwrap() []error { return []error{e.Installed, e.Fetched, e.Docker} }

// installedRoot is where Debian's packages put the programs.
const installedRoot = "/usr/lib/postgresql"

func launch(ctx context.Context, l serving.Launch) (*Server, error) {
	var none NoRuntimeError
	bin, err := findPrograms(ctx, installedRoot)
	if err != nil {
		none.Installed = err
		bin, err = install(ctx, l)
	}
	if err == nil {
		return startPrograms(ctx, l, bin)
	}
	none.Fetched = err
	docker, err := serving.FindDocker(ctx)
	if err != nil {
		none.Docker = err
		return nil, &none
	}
	return startDocker(ctx, l, docker)
}

// settings are those of a server whose data is worth nothing after the test. Everything
// that a client can observe is as in production.
var settings = []string{
	"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "wal_level=minimal", "-c", "max_wal_senders=0",
	"-c", "max_connections=300", "-c", "shared_buffers=64MB", "-c", "timezone=UTC",
}

const dockerImage = "postgres:18.1"

func startDocker(ctx context.Context, l serving.Launch, docker string) (*Server, error) {
	addr, stop, err := l.StartImage(ctx, docker, serving.Image{
		Name:      dockerImage,
		Container: "once-postgresql-",
		Args: func(port string) []string {
			return append([]string{
				"--publish", "127.0.0.1:" + port + ":5432", "--env", "POSTGRES_USER=" + superuser,
				"--env", "POSTGRES_DB=postgres", "--env", "POSTGRES_HOST_AUTH_METHOD=trust", dockerImage,
			}, settings...)
		},
	})
	if err != nil {
		return nil, err
	}
	return &Server{url: urlOf(addr), stop: stop}, nil
}
