//go:build unix

package supervise_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/supervise"
)

// The test binary plays three parts: the test, a parent that will be killed,
// and the child that must not survive it.
func TestMain(m *testing.M) {
	if addr := os.Getenv("SUPERVISE_CHILD"); addr != "" {
		child(addr)
	}
	if addr := os.Getenv("SUPERVISE_PARENT"); addr != "" {
		parent(addr)
	}
	os.Exit(m.Run())
}

// child has a connection to the test: the kernel closes it when the child
// dies, even if nobody reaps it.
func child(addr string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(conn, "child")
	_, err = io.Copy(io.Discard, conn)
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func parent(addr string) {
	self, err := os.Executable()
	if err == nil {
		var p *supervise.Process
		p, err = supervise.Start(supervise.Command{
			Path:     self,
			Env:      []string{"SUPERVISE_CHILD=" + addr},
			Orphaned: []string{"/bin/sh", "-c", "echo cleaned >" + os.Getenv("SUPERVISE_FILE")},
		})
		if err == nil && os.Getenv("SUPERVISE_STOP") != "" {
			err = p.Stop()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ready")
	select {}
}

func TestNoOrphanAfterSIGKILL(t *testing.T) {
	for _, stopped := range []string{"", "1"} {
		t.Run("stopped="+stopped, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			check.Must(t, err)
			defer listener.Close()
			fifo := t.TempDir() + "/fifo"
			check.Must(t, syscall.Mkfifo(fifo, 0o600))
			self, err := os.Executable()
			check.Must(t, err)
			cmd := exec.Command(self)
			cmd.Env = []string{"SUPERVISE_PARENT=" + listener.Addr().String(), "SUPERVISE_FILE=" + fifo, "SUPERVISE_STOP=" + stopped}
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			check.Must(t, err)
			check.Must(t, cmd.Start())
			if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
				t.Fatal(err)
			}
			var conn net.Conn
			if stopped == "" { // a stopped child may not have come to its call
				if conn, err = listener.Accept(); err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
			}
			check.Must(t, cmd.Process.Kill())
			if err := cmd.Wait(); err == nil {
				t.Fatal("a killed parent exited with 0")
			}
			// The watcher cleans up after the kill, so this also says that
			// it is done.
			if got, err := os.ReadFile(fifo); err != nil || string(got) != "cleaned\n" {
				t.Fatalf("the watcher wrote %q, %v", got, err)
			}
			if conn == nil {
				return
			}
			check.Must(t, conn.SetDeadline(time.Now().Add(2*time.Minute)))
			if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Fatalf("the child is alive: %v", err)
			}
		})
	}
}

func TestOutputAndState(t *testing.T) {
	var out bytes.Buffer
	p, err := supervise.Start(supervise.Command{
		Path: "/bin/sh", Args: []string{"-c", `echo "$A" "$HOME"; echo err >&2; exit 7`},
		Env: []string{"A=a b"}, Output: &out,
	})
	check.Must(t, err)
	check.Equal(t, p.State().ExitCode(), 7, "exit code")
	check.Equal(t, out.String(), "a b \nerr\n")
	check.Nil(t, p.Kill(), "killing what is gone")
}

func TestKillTakesStoppedGrandchildren(t *testing.T) {
	started := make(chan struct{})
	p, err := supervise.Start(supervise.Command{
		Path: "/bin/sh", Args: []string{"-c", `sleep 600 & echo on; wait`},
		Env: []string{"PATH=/usr/bin:/bin"}, Output: signalWriter(func() { close(started) }),
	})
	check.Must(t, err)
	<-started
	check.Must(t, p.Stop())
	// Kill returns only when nobody has the output pipe open, the
	// grandchild included.
	check.Must(t, p.Kill())
	check.Equal(t, p.State().Sys().(syscall.WaitStatus).Signal(), syscall.SIGKILL)
}

func TestRun(t *testing.T) {
	shell := func(ctx context.Context, script string) (string, error) {
		return supervise.Run(ctx, supervise.Command{Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=/usr/bin:/bin"}})
	}
	out, err := shell(t.Context(), "echo a; echo b >&2")
	check.Nil(t, err)
	check.Equal(t, out, "a\nb\n")
	_, err = shell(t.Context(), "echo bad; echo option; exit 3")
	check.Says(t, err, "/bin/sh: exit status 3: bad option")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = shell(ctx, "sleep 600")
	check.Is(t, err, context.Canceled)
}

func TestMissingProgram(t *testing.T) {
	if _, err := supervise.Start(supervise.Command{Path: "/no/such/program"}); err == nil {
		t.Fatal("started nothing")
	}
}

type signalWriter func()

func (f signalWriter) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}
