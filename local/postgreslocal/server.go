package postgreslocal

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/lambda-once/once/internal/serving"
)

const (
	urlVar = "POSTGRESLOCAL_URL"
	// superuser is the role of every URL.
	superuser = "once"
)

// Options are the options of [Start]. The default of CacheDir is once/postgresql in
// os.UserCacheDir, and /var/cache/once/postgresql for root, whose own cache is closed to
// the user that the server runs as.
type Options = serving.Options

// A Server is a running PostgreSQL.
type Server struct {
	url  string
	stop func() error
}

// Start finds or starts a server. The context limits only the start. If o is nil, all
// defaults apply.
func Start(ctx context.Context, o *Options) (*Server, error) { return start(ctx, kind, o) }

// StartDurable starts a server whose commits wait for the disk, as in production. It is for
// benchmarks: tests with it take longer, and learn nothing more. It does not look for a
// server that is running. The context limits only the start.
func StartDurable(ctx context.Context, o *Options) (*Server, error) { return start(ctx, durable, o) }

func start(ctx context.Context, kind serving.Kind, o *Options) (*Server, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.CacheDir == "" && os.Geteuid() == 0 {
		c.CacheDir = "/var/cache/once/postgresql"
	}
	url, stop, err := kind.Start(ctx, &c)
	if err != nil {
		return nil, err
	}
	return &Server{url, stop}, nil
}

// URL returns the connection string of the server's first database, for a superuser.
func (s *Server) URL() string { return s.url }

// NewDatabase creates a database with a unique name, and returns its connection string.
// The name begins with hint, as far as its characters suit.
func (s *Server) NewDatabase(ctx context.Context, hint string) (string, error) {
	name := databaseName(hint)
	if err := execute(ctx, s.url, "CREATE DATABASE "+name); err != nil {
		return "", fmt.Errorf("postgreslocal: create database: %w", err)
	}
	u, err := url.Parse(s.url)
	if err != nil {
		return "", fmt.Errorf("postgreslocal: %w", err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

// DropDatabase drops a database of NewDatabase and ends the connections to it.
func (s *Server) DropDatabase(ctx context.Context, database string) error {
	u, err := url.Parse(database)
	if err == nil {
		err = execute(ctx, s.url, "DROP DATABASE "+strings.TrimPrefix(u.Path, "/")+" WITH (FORCE)")
	}
	if err != nil {
		return fmt.Errorf("postgreslocal: drop database: %w", err)
	}
	return nil
}

// databaseName needs no quotes, and has at most the 63 bytes that PostgreSQL keeps.
func databaseName(hint string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, hint)
	return "t_" + clean[:min(len(clean), 34)] + "_" + strings.ToLower(rand.Text())
}

// Env returns the environment variable with which [Start] finds the server in a child
// process.
func (s *Server) Env() []string { return []string{urlVar + "=" + s.url} }

// Stop stops the server, waits until it has exited, and removes its data. It does
// nothing to a server that was found running.
func (s *Server) Stop() error { return s.stop() }
