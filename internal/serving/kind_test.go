//go:build unix

package serving

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/supervise"
)

// start starts a server whose cache and temporary directory are the test's own.
func start(
	ctx context.Context, t *testing.T, answers func(ctx context.Context, addr string) error, command func(port string) supervise.Command,
) (addr string, stop func() error, err error) {
	t.Helper()
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Cleanup(func() {
		left, err := os.ReadDir(temporary)
		check.Nil(t, err)
		check.Equal(t, len(left), 0, "directories are left")
	})
	return Kind{
		Package: "xlocal", Name: "x", URL: "%s", Answers: answers,
		Find: func(context.Context, Options) (Program, error) {
			return Program{Command: func(_, port string) (supervise.Command, error) { return command(port), nil }}, nil
		},
	}.Start(ctx, &Options{CacheDir: t.TempDir(), Log: t.Output()})
}

func shell(script string, args ...string) supervise.Command {
	return supervise.Command{Path: "/bin/sh", Args: append([]string{"-c", script, "sh"}, args...), Env: []string{"PATH=/usr/bin:/bin"}}
}

// lasting writes its process ID to the file and runs until it is killed.
const lasting = `echo $$ >"$1.part" && mv "$1.part" "$1" && exec sleep 600`

// alive reports whether the process whose ID is in the file runs.
func alive(t *testing.T, file string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	check.Must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	check.Must(t, err)
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

func TestStartReportsTheOutputOfAProgramThatExits(t *testing.T) {
	silent := func(context.Context, string) error { return errors.New("nobody listens") }
	_, _, err := start(t.Context(), t, silent, func(string) supervise.Command { return shell("echo bad option; exit 3") })
	if err == nil || err.Error() != "xlocal: start: it exited at once: exit status 3\nbad option\n" {
		t.Errorf("got %v", err)
	}
}

func TestStartKillsAServerThatDoesNotAnswer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	silent := errors.New("nobody listens")
	_, _, err := start(ctx, t, func(context.Context, string) error {
		if _, err := os.Stat(file); err == nil {
			cancel()
		}
		return silent
	}, func(string) supervise.Command { return shell(lasting, file) })
	check.Is(t, err, silent)
	check.Says(t, err, "it did not respond")
	check.False(t, alive(t, file), "the server is alive")
}

func TestStartTakesAnotherPortAfterAProgramThatExitsForIt(t *testing.T) {
	tries := 0
	_, stop, err := start(t.Context(), t, func(context.Context, string) error {
		if tries == 2 {
			return nil
		}
		return errors.New("nobody listens")
	}, func(string) supervise.Command {
		if tries++; tries == 1 {
			return shell("echo 'bind: Address already in use'; exit 1")
		}
		return shell("exec sleep 600")
	})
	check.Must(t, err)
	check.Nil(t, stop())
}

func TestStartTakesAnotherPortIfTheFirstIsTaken(t *testing.T) {
	dir := t.TempDir()
	var ports []string
	addr, stop, err := start(t.Context(), t, func(_ context.Context, addr string) error {
		if len(ports) == 2 && strings.HasSuffix(addr, ":"+ports[1]) {
			return nil
		}
		return errors.New("nobody listens")
	}, func(port string) supervise.Command {
		ports = append(ports, port)
		if len(ports) == 1 {
			// Like a JVM, it continues.
			return shell("echo $$ >\"$1\"; echo 'bind: Address already in use'; exec sleep 600", filepath.Join(dir, "first"))
		}
		return shell("exec sleep 600")
	})
	check.Must(t, err)
	if len(ports) != 2 || addr != "127.0.0.1:"+ports[1] || alive(t, filepath.Join(dir, "first")) {
		t.Errorf("address %s after the ports %v; the first lives: %v", addr, ports, alive(t, filepath.Join(dir, "first")))
	}
	check.Nil(t, stop())
}

func TestACommandGetsItsPortAgainWhileItIsFree(t *testing.T) {
	o := Options{command: rand.Text()}
	port, err := o.port()
	check.Must(t, err)
	l, err := net.Listen("tcp", ":"+port)
	check.Must(t, err)
	other, err := o.port()
	check.Must(t, err)
	check.Differ(t, other, port, "while it is taken")
	check.Nil(t, l.Close())
	again, err := o.port()
	check.Must(t, err)
	check.Equal(t, again, port)
}

func TestAContainerThatDoesNotAnswerIsRemoved(t *testing.T) {
	dir := t.TempDir()
	docker, calls := filepath.Join(dir, "docker"), filepath.Join(dir, "calls")
	script := "#!/bin/sh\necho \"$@\" >>'" + calls + "'\n[ \"$1\" != run ] || exec /bin/sleep 600\n"
	check.Must(t, os.WriteFile(docker, []byte(script), 0o755))
	t.Setenv("PATH", dir)
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := Kind{
		Package: "xlocal", Name: "x", URL: "%s", Image: "x:1",
		Answers: func(context.Context, string) error {
			if text, err := os.ReadFile(calls); err == nil && strings.Contains(string(text), "run --rm") {
				cancel()
			}
			return errors.New("nobody listens")
		},
		Find:   func(context.Context, Options) (Program, error) { return Program{}, errors.New("not found") },
		Docker: func(string) []string { return nil },
	}.Start(ctx, &Options{CacheDir: dir})
	check.Says(t, err, "nobody listens")
	text, err := os.ReadFile(calls)
	check.Must(t, err)
	got := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(got) != 4 || got[3] != strings.Replace(got[2], "run --rm --name", "rm --force", 1) {
		t.Errorf("docker was called as\n%s", text)
	}
}
