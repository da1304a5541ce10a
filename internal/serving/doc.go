// Package serving starts the servers that tests need, and runs tests and commands beside
// them. The package of each server describes its [Kind]: where its program comes from, how
// the program is called, and which request shows that it serves.
package serving

import (
	"context"
	"io"
	"time"
)

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
