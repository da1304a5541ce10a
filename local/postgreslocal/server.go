package postgreslocal

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/lambda-once/once/local/serving"
)

const (
	urlVar = "POSTGRESLOCAL_URL"
	// superuser is the role of every URL.
	superuser = "once"
)

// Options are the options of [Start]. A field with its zero value has its default.
type Options struct {
	// CacheDir is the directory of the fetched programs. Default: once/postgresql in
	// os.UserCacheDir, and /var/cache/once/postgresql for root, whose own cache is
	// closed to the user that the server runs as.
	CacheDir string
	// Log receives a line for each long step. Default: nothing is logged.
	Log io.Writer
	// Timeout limits the start of the server without fetching. Default: one
	// minute.
	Timeout time.Duration
}

func (o *Options) withDefaults() (serving.Launch, error) {
	if o == nil {
		o = &Options{}
	}
	l := serving.Launch{
		Package: "postgreslocal", CacheDir: o.CacheDir, Log: o.Log, Timeout: o.Timeout,
		Answers: func(ctx context.Context, addr string) error { return execute(ctx, urlOf(addr)) },
	}
	if l.CacheDir == "" && os.Geteuid() == 0 {
		l.CacheDir = "/var/cache/once/postgresql"
	}
	return l.WithDefaults("postgresql")
}

func urlOf(addr string) string {
	return "postgres://" + superuser + "@" + addr + "/postgres?sslmode=disable"
}

// A Server is a running PostgreSQL.
type Server struct {
	url  string
	stop func() error
}

// Start finds or starts a server. The context limits only the start. If o is nil, all
// defaults apply.
func Start(ctx context.Context, o *Options) (*Server, error) {
	// A server that is running needs no cache.
	l, noCache := o.withDefaults()
	if url := os.Getenv(urlVar); url != "" {
		err := execute(ctx, url)
		if err == nil {
			return &Server{url: url, stop: func() error { return nil }}, nil
		}
		if err := l.Logf("%s does not lead to a server (%v): starting one", urlVar, err); err != nil {
			return nil, err
		}
	}
	if noCache != nil {
		return nil, noCache
	}
	return launch(ctx, l)
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
