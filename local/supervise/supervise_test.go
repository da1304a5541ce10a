package supervise_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lambda-once/once/local/supervise"
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
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			fifo := t.TempDir() + "/fifo"
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(self)
			cmd.Env = []string{"SUPERVISE_PARENT=" + listener.Addr().String(), "SUPERVISE_FILE=" + fifo, "SUPERVISE_STOP=" + stopped}
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
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
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
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
			if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
				t.Fatal(err)
			}
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
	if err != nil {
		t.Fatal(err)
	}
	if got := p.State().ExitCode(); got != 7 {
		t.Errorf("exit code %d", got)
	}
	if got := out.String(); got != "a b \nerr\n" {
		t.Errorf("output %q", got)
	}
	if err := p.Kill(); err != nil {
		t.Errorf("killing what is gone: %v", err)
	}
}

func TestKillTakesStoppedGrandchildren(t *testing.T) {
	started := make(chan struct{})
	p, err := supervise.Start(supervise.Command{
		Path: "/bin/sh", Args: []string{"-c", `sleep 600 & echo on; wait`},
		Env: []string{"PATH=/usr/bin:/bin"}, Output: signalWriter(func() { close(started) }),
	})
	if err != nil {
		t.Fatal(err)
	}
	<-started
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	// Kill returns only when nobody has the output pipe open, the
	// grandchild included.
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if status := p.State().Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		t.Errorf("killed by %v", status.Signal())
	}
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
