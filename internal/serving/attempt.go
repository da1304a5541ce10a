package serving

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lambda-once/once/internal/fetch"
	"github.com/lambda-once/once/internal/supervise"
)

// orphaned removes the directory $1 after a further command, whose status counts.
const orphaned = `dir=$1; shift; trap '/bin/rm -rf "$dir"' EXIT; "$@"`

// attempt starts the program on a free port, in a directory of its own, and returns the
// server's URL when it answers.
func (k Kind) attempt(ctx context.Context, o Options, program Program) (url string, stop func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	dir := filepath.Join(os.TempDir(), "once-"+k.Name+"-"+strings.ToLower(rand.Text()))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", nil, err
	}
	stop = func() error { return os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			err = errors.Join(err, stop())
		}
	}()
	if program.Prepare != nil {
		if err := program.Prepare(ctx, dir); err != nil {
			return "", nil, err
		}
	}
	// Only one process starts a server at a time: two that chose the same port would
	// share one server unknowingly.
	unlock, err := fetch.Lock(ctx, filepath.Join(o.CacheDir, "start.lock"))
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	port, err := o.port()
	if err != nil {
		return "", nil, err
	}
	var said Tail
	c, err := program.Command(dir, port)
	if err != nil {
		return "", nil, err
	}
	c.Dir, c.Output = dir, &said
	c.Orphaned = append([]string{"/bin/sh", "-c", orphaned, "sh", dir}, c.Orphaned...)
	p, err := supervise.Start(c)
	if err != nil {
		return "", nil, err
	}
	stop = func() error {
		err := p.Signal(cmp.Or(program.Quit, syscall.SIGKILL))
		select {
		case <-p.Done():
		case <-time.After(10 * time.Second):
		}
		err = errors.Join(err, p.Kill())
		remove := supervise.Command{Path: c.Orphaned[0], Args: c.Orphaned[1:], Env: os.Environ()}
		_, remains := supervise.Run(context.Background(), remove)
		return errors.Join(err, remains)
	}
	url = fmt.Sprintf(k.URL, net.JoinHostPort("127.0.0.1", port))
	return url, stop, k.await(ctx, url, p, &said)
}

// errPortTaken is the only error of a start that is retried.
var errPortTaken = errors.New("the port was taken")

// await returns when the server answers.
func (k Kind) await(ctx context.Context, url string, p *supervise.Process, said *Tail) error {
	for {
		err := k.Answers(ctx, url)
		// A foreign server may respond on a port that this one could not bind. A
		// JVM even continues without it.
		if portTaken(said) {
			return errPortTaken
		}
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			if portTaken(said) {
				return errPortTaken
			}
			return fmt.Errorf("it exited at once: %v\n%s", p.State(), said)
		case <-ctx.Done():
			return fmt.Errorf("it did not respond: %w\n%s", err, said)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// portTaken reports whether the output of a program says so, in C's spelling or in Go's.
func portTaken(said *Tail) bool {
	return strings.Contains(strings.ToLower(said.String()), "address already in use")
}

// port returns a free port. A command gets the same one at its next run, if it is still
// free: go test repeats a result only where the environment is the same.
func (o Options) port() (string, error) {
	if o.command != "" {
		name := fnv.New32a()
		_, _ = name.Write([]byte(o.command)) // never fails
		// Below the ports that Linux and macOS give to connections.
		l, err := net.Listen("tcp", fmt.Sprint(":", 20_000+name.Sum32()%10_000))
		if err == nil {
			return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), l.Close()
		}
	}
	return FreePort()
}

// FreePort returns a port that is free on all interfaces, because a JVM binds them all.
func FreePort() (string, error) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return "", err
	}
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), l.Close()
}
