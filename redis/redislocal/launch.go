package redislocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/lambda-once/once/internal/serving"
	"github.com/lambda-once/once/internal/supervise"
)

// ErrNoRuntime reports that no server is installed or fetchable, and that Docker is not
// available.
var ErrNoRuntime = errors.New("redislocal: neither valkey-server nor redis-server is installed or fetchable, and Docker is not usable")

// names are tried in this order, on PATH and as packages of Debian.
var names = []string{"valkey-server", "redis-server"}

const (
	dockerImage  = "valkey/valkey:8.1"
	sentinelFile = "sentinel.conf"
)

// kindOf returns a kind of servers with the arguments. With none, it includes the server
// that is running.
func kindOf(args []string) serving.Kind {
	// The data is worth nothing after the test.
	settings := func(port string) []string {
		return append([]string{"--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no"}, args...)
	}
	k := serving.Kind{
		Package: "redislocal", Name: "redis", URL: "%s", Answers: answers,
		Find:  find(nil, settings),
		Image: dockerImage,
		// The container shares the network of the host: the nodes of a cluster
		// and replicas find each other by its ports.
		Docker: func(port string) []string {
			return append([]string{"--network", "host", dockerImage, "valkey-server"}, settings(port)...)
		},
	}
	if args == nil {
		k.Variable = addrVar
	}
	return k
}

// sentinelOf returns a kind of Sentinels, which keep their state in their configuration.
// Docker runs none.
func sentinelOf(configuration string) serving.Kind {
	return serving.Kind{Package: "redislocal", Name: "redis", URL: "%s", Answers: answers, Find: find(
		func(_ context.Context, dir string) error {
			return os.WriteFile(filepath.Join(dir, sentinelFile), []byte(configuration), 0o600)
		},
		func(port string) []string {
			return []string{sentinelFile, "--sentinel", "--bind", "127.0.0.1", "--port", port}
		},
	)}
}

// find returns a server that is installed or can be fetched.
func find(
	prepare func(ctx context.Context, dir string) error, args func(port string) []string,
) func(context.Context, serving.Options) (serving.Program, error) {
	return func(ctx context.Context, o serving.Options) (serving.Program, error) {
		server, notInstalled := installed(ctx)
		if notInstalled != nil {
			var err error
			if server, err = install(ctx, o); err != nil {
				return serving.Program{}, fmt.Errorf("%w: installed: %w; fetched: %w", ErrNoRuntime, notInstalled, err)
			}
		}
		return serving.Program{Prepare: prepare, Command: func(_, port string) (supervise.Command, error) {
			c := server
			c.Args = args(port)
			return c, nil
		}}, nil
	}
}

var version = regexp.MustCompile(` v=(\d+)`)

// installed returns the first server on PATH.
func installed(ctx context.Context) (supervise.Command, error) {
	path, err := serving.Installed(ctx, names, "--version", version, 1)
	return supervise.Command{Path: path, Env: env()}, err
}

func env(more ...string) []string { return append(more, "PATH="+os.Getenv("PATH"), "LC_ALL=C") }
