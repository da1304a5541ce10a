// Package serving starts the servers that tests need, and runs tests and commands beside
// them. The package of each server describes its [Kind]: where its program comes from, how
// the program is called, and which request shows that it serves.
package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/lambda-once/once/internal/supervise"
)

// A Kind describes the servers of one kind.
type Kind struct {
	// Package is the name of the kind's package, with which errors begin.
	Package string
	// Name is a part of the names of directories and containers.
	Name string
	// Variable is the environment variable with the URL of a running server. May be
	// empty.
	Variable string
	// URL is the URL of a server, with %s in place of its host and port.
	URL string
	// Answers sends a request that succeeds as soon as the server at the URL serves.
	Answers func(ctx context.Context, url string) error
	// Find returns a program that is installed or can be fetched.
	Find func(context.Context, Options) (Program, error)
	// Image is the image that Docker runs if Find fails, and Docker returns the
	// arguments of docker run that lead the port to it. May be empty.
	Image  string
	Docker func(port string) []string
}

// A Program is a server that runs in a new directory.
type Program struct {
	// Prepare fills the directory before the start. May be nil.
	Prepare func(ctx context.Context, dir string) error
	// Command returns the command that serves on the port. Its Orphaned removes
	// everything outside the directory that remains after the exit.
	Command func(dir, port string) (supervise.Command, error)
	// Quit is the signal at which the program exits. Default: SIGKILL.
	Quit syscall.Signal
}

// Start finds or starts a server. It returns the server's URL, and a function that stops
// it unless it was found running.
func (k Kind) Start(ctx context.Context, o *Options) (url string, stop func() error, err error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	c.Timeout = cmp.Or(c.Timeout, time.Minute)
	if url := os.Getenv(k.Variable); url != "" {
		err := k.Answers(ctx, url)
		if err == nil {
			return url, func() error { return nil }, nil
		}
		if _, err := fmt.Fprintf(c.Log, "the server of %s does not respond (%v): starting one\n", k.Variable, err); err != nil {
			return "", nil, fmt.Errorf("%s: log: %w", k.Package, err)
		}
	}
	if c.CacheDir == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", k.Package, err)
		}
		c.CacheDir = filepath.Join(dir, "once", k.Name)
	}
	p, err := k.find(ctx, c)
	if err != nil {
		return "", nil, err
	}
	for range 3 {
		url, stop, err = k.attempt(ctx, c, p)
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("%s: start: %w", k.Package, err)
	}
	return url, stop, nil
}

// A Server runs until it is stopped.
type Server interface {
	// Env returns the environment variables that lead a program to the server.
	Env() []string
	// Stop stops the server, and waits until it has exited.
	Stop() error
}

// A Starter finds or starts a server.
type Starter[S Server] func(context.Context, *Options) (S, error)

// Options are the options of a start. A field with its zero value has its default.
type Options struct {
	// CacheDir is the directory of the fetched programs. Default: a directory for
	// servers of this kind, in once in os.UserCacheDir.
	CacheDir string
	// Log receives a line for each long step. Default: nothing is logged.
	Log io.Writer
	// Timeout limits the start of the server without fetching. Default: one
	// minute.
	Timeout time.Duration

	command string // that runs beside the server, if it is one
}
