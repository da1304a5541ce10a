package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lambda-once/once/local/fetch"
	"github.com/lambda-once/once/local/supervise"
)

// A Launch starts servers of one kind.
type Launch struct {
	// Package is the name of the kind's package, with which errors begin.
	Package string
	// CacheDir is the directory of fetched programs.
	CacheDir string
	// Log receives a line for each long step.
	Log io.Writer
	// Timeout limits a start without fetching.
	Timeout time.Duration
	// Answers sends a request that succeeds as soon as the server at addr, a host and
	// port, serves.
	Answers func(ctx context.Context, addr string) error
}

// WithDefaults returns l with defaults: the directory once/cache in os.UserCacheDir, no
// log, and a timeout of one minute. If there is no such directory, it returns an error, and
// l with the other defaults.
func (l Launch) WithDefaults(cache string) (Launch, error) {
	if l.Log == nil {
		l.Log = io.Discard
	}
	l.Timeout = cmp.Or(l.Timeout, time.Minute)
	if l.CacheDir == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return l, fmt.Errorf("%s: %w", l.Package, err)
		}
		l.CacheDir = filepath.Join(dir, "once", cache)
	}
	return l, nil
}

// Logf writes a line to the log.
func (l Launch) Logf(format string, args ...any) error {
	if _, err := fmt.Fprintf(l.Log, format+"\n", args...); err != nil {
		return fmt.Errorf("%s: log: %w", l.Package, err)
	}
	return nil
}

// errPortTaken is the only error of a start that is retried.
var errPortTaken = errors.New("the port was taken")

// portTaken reports whether the output of a program says so, in C's spelling or in Go's.
func portTaken(said *Tail) bool {
	return strings.Contains(strings.ToLower(said.String()), "address already in use")
}

// Start runs the command on a free port, and returns the server's address when it
// answers. Only one process starts a server at a time: two that chose the same port
// would share one server unknowingly.
func (l Launch) Start(ctx context.Context, command func(port string) supervise.Command) (addr string, p *supervise.Process, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	unlock, err := fetch.Lock(ctx, filepath.Join(l.CacheDir, "start.lock"))
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", l.Package, err)
	}
	for range 3 {
		addr, p, err = l.startOnce(ctx, command)
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err := errors.Join(err, unlock()); err != nil {
		return "", nil, fmt.Errorf("%s: start: %w", l.Package, err)
	}
	return addr, p, nil
}

func (l Launch) startOnce(ctx context.Context, command func(port string) supervise.Command) (string, *supervise.Process, error) {
	port, err := FreePort()
	if err != nil {
		return "", nil, err
	}
	var said Tail
	cmd := command(port)
	cmd.Output = &said
	p, err := supervise.Start(cmd)
	if err != nil {
		return "", nil, err
	}
	addr := net.JoinHostPort("127.0.0.1", port)
	for {
		err := l.Answers(ctx, addr)
		// A foreign server may respond on a port that this one could not bind. A
		// JVM even continues without it.
		if portTaken(&said) {
			return "", nil, errors.Join(errPortTaken, p.Kill())
		}
		if err == nil {
			return addr, p, nil
		}
		select {
		case <-p.Done():
			if portTaken(&said) {
				return "", nil, errPortTaken
			}
			return "", nil, fmt.Errorf("it exited at once: %v\n%s", p.State(), &said)
		case <-ctx.Done():
			return "", nil, errors.Join(fmt.Errorf("it did not respond: %w\n%s", err, &said), p.Kill())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// FreePort returns a port that is free on all interfaces, because a JVM binds them all.
func FreePort() (string, error) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return "", err
	}
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), l.Close()
}
