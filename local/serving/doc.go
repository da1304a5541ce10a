// Package serving starts the servers that tests need, and runs tests and commands beside
// them. The package of each server adds where its program comes from, how the program is
// called, and which request shows that it serves.
package serving

import (
	"context"
	"io"
)

// A Server runs until it is stopped.
type Server interface {
	// Env returns the environment variables that lead a program to the server.
	Env() []string
	// Stop stops the server, and waits until it has exited.
	Stop() error
}

// A Starter finds or starts a server. The log receives a line for each long step.
type Starter[S Server] func(ctx context.Context, log io.Writer) (S, error)
