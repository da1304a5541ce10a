package postgreslocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/lambda-once/once/local/serving"
	"github.com/lambda-once/once/local/supervise"
)

// orphaned removes the data of a killed server, and the segment of shared memory that
// its lock file names.
const orphaned = `PATH=$PATH:/usr/bin:/bin; set -- "$1" $(sed -n 7p "$1/data/postmaster.pid"); ipcrm -m "$3"; rm -rf "$1"`

func startPrograms(ctx context.Context, l serving.Launch, bin string) (_ *Server, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	as, err := serverUser()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "once-postgresql-")
	if err != nil {
		return nil, fmt.Errorf("postgreslocal: %w", err)
	}
	if as != nil {
		if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
			return nil, errors.Join(fmt.Errorf("postgreslocal: %w", err), os.RemoveAll(dir))
		}
	}
	program := func(name string, args ...string) supervise.Command {
		return supervise.Command{
			Path:     filepath.Join(bin, name),
			Args:     append(args, "-D", filepath.Join(dir, "data")),
			Env:      []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + dir},
			Dir:      dir,
			User:     as,
			Orphaned: []string{"/bin/sh", "-c", orphaned, "sh", dir},
		}
	}
	if err := run(ctx, program("initdb", "--username="+superuser, "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")); err != nil {
		return nil, errors.Join(fmt.Errorf("postgreslocal: %w", err), os.RemoveAll(dir))
	}
	addr, p, err := l.Start(ctx, func(port string) supervise.Command {
		return program("postgres", append([]string{"-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="}, settings...)...)
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Server{url: urlOf(addr), stop: func() error { return errors.Join(shutDown(p), os.RemoveAll(dir)) }}, nil
}

// shutDown asks for an immediate shutdown, in which the server removes its shared
// memory. It kills a server that does not exit.
func shutDown(p *supervise.Process) error {
	err := p.Signal(syscall.SIGQUIT)
	select {
	case <-p.Done():
	case <-time.After(10 * time.Second):
	}
	return errors.Join(err, p.Kill())
}

// run waits for a program that exits by itself.
func run(ctx context.Context, c supervise.Command) error {
	var said serving.Tail
	c.Output = &said
	p, err := supervise.Start(c)
	if err != nil {
		return err
	}
	name := filepath.Base(c.Path)
	select {
	case <-p.Done():
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("%s: %w", name, ctx.Err()), p.Kill())
	}
	if !p.State().Success() {
		return errors.Join(fmt.Errorf("%s: %v: %s", name, p.State(), serving.OneLine(said.String())), p.Kill())
	}
	return p.Kill()
}

// serverUser returns the user that the server runs as, or nil for the user of this
// process.
func serverUser() (*supervise.User, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("postgreslocal: PostgreSQL refuses to run as root: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("postgreslocal: %w", err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("postgreslocal: %w", err)
	}
	return &supervise.User{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
