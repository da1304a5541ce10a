package postgreslocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"

	"github.com/lambda-once/once/internal/serving"
	"github.com/lambda-once/once/internal/supervise"
)

// ErrNoRuntime reports that PostgreSQL is not installed and cannot be fetched, and that
// Docker is not available.
var ErrNoRuntime = errors.New("postgreslocal: no PostgreSQL 15 or newer is installed or fetchable, and Docker is not usable")

// kind is the server of tests, and durable one whose commits wait for the disk.
var (
	kind    = kindOf(urlVar, append([]string{"-c", "fsync=off", "-c", "full_page_writes=off"}, settings...))
	durable = kindOf("", settings)
)

// kindOf returns the servers with these settings. The variable names one that is running;
// "" is none.
func kindOf(variable string, settings []string) serving.Kind {
	return serving.Kind{
		Package: "postgreslocal", Name: "postgresql",
		Variable: variable, URL: "postgres://" + superuser + "@%s/postgres?sslmode=disable",
		Answers: func(ctx context.Context, url string) error { return execute(ctx, url) },
		Find:    find("/usr/lib/postgresql", settings),
		Image:   dockerImage,
		Docker: func(port string) []string {
			return append([]string{
				"--publish", "127.0.0.1:" + port + ":5432", "--env", "POSTGRES_USER=" + superuser,
				"--env", "POSTGRES_DB=postgres", "--env", "POSTGRES_HOST_AUTH_METHOD=trust", dockerImage,
			}, settings...)
		},
	}
}

const dockerImage = "postgres:18.1"

// settings are those of a server whose data is worth nothing after the test. Everything
// that a client can observe is as in production.
var settings = []string{
	"-c", "wal_level=minimal", "-c", "max_wal_senders=0",
	"-c", "max_connections=300", "-c", "shared_buffers=64MB", "-c", "timezone=UTC",
}

// find returns the programs that are installed on PATH or below root, or else fetched.
func find(root string, settings []string) func(context.Context, serving.Options) (serving.Program, error) {
	return func(ctx context.Context, o serving.Options) (serving.Program, error) {
		bin, notInstalled := installed(ctx, root)
		if notInstalled != nil {
			var err error
			if bin, err = install(ctx, o); err != nil {
				return serving.Program{}, fmt.Errorf("%w: installed: %w; fetched: %w", ErrNoRuntime, notInstalled, err)
			}
		}
		return programs(bin, settings)
	}
}

var version = regexp.MustCompile(`^\w+ \(PostgreSQL\) (\d+)`)

// installed returns the directory of the installed initdb and postgres: the one on PATH,
// or else the newest one below root, where Debian installs those of each version.
// Version 15 is the oldest that its developers still mend.
func installed(ctx context.Context, root string) (bin string, err error) {
	packaged, err := filepath.Glob(filepath.Join(root, "*", "bin", "initdb"))
	if err != nil {
		return "", err
	}
	slices.SortFunc(packaged, func(a, b string) int { return versionOf(b) - versionOf(a) })
	path, err := serving.Installed(ctx, append([]string{"initdb"}, packaged...), "--version", version, 15)
	if err != nil {
		return "", err
	}
	// A link on PATH leads to the directory that also contains postgres.
	path, err = filepath.EvalSymlinks(path)
	return filepath.Dir(path), err
}

// versionOf returns the 15 of /usr/lib/postgresql/15/bin/initdb, and 0 for other names.
func versionOf(initdb string) int {
	v, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	if err != nil {
		return 0
	}
	return v
}

// orphaned removes the segment of shared memory that the lock file of a killed server
// names.
const orphaned = `PATH=$PATH:/usr/bin:/bin; set -- $(sed -n 7p "$1/data/postmaster.pid"); ipcrm -m "$2"; :`

// programs returns a server with these settings that initdb and postgres of a directory
// make.
func programs(bin string, settings []string) (serving.Program, error) {
	as, err := serverUser()
	command := func(dir, name string, args ...string) supervise.Command {
		return supervise.Command{
			Path:     filepath.Join(bin, name),
			Args:     append(args, "-D", filepath.Join(dir, "data")),
			Env:      []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + dir},
			Dir:      dir,
			User:     as,
			Orphaned: []string{"/bin/sh", "-c", orphaned, "sh", dir},
		}
	}
	return serving.Program{
		Prepare: func(ctx context.Context, dir string) error {
			if as != nil {
				if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
					return err
				}
			}
			c := command(dir, "initdb", "--username="+superuser, "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")
			c.Orphaned = []string{"/bin/rm", "-rf", dir}
			_, err := supervise.Run(ctx, c)
			return err
		},
		Command: func(dir, port string) (supervise.Command, error) {
			args := []string{"-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="}
			return command(dir, "postgres", append(args, settings...)...), nil
		},
		// An immediate shutdown, in which the server removes its shared memory.
		Quit: syscall.SIGQUIT,
	}, err
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
	as := &supervise.User{}
	if _, err := fmt.Sscan(u.Uid+" "+u.Gid, &as.Uid, &as.Gid); err != nil {
		return nil, fmt.Errorf("postgreslocal: user %s: %w", u.Username, err)
	}
	return as, nil
}
