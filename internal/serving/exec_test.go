package serving

import (
	"bufio"
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

	"github.com/lambda-once/once/internal/check"
)

// The test binary stands for a command that runs others beside its server.
func TestMain(m *testing.M) {
	if os.Getenv("SERVING_COMMAND") != "" {
		code, err := Exec(os.Args[1:], startListener, func(l listener) string { return l.Addr().String() })
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}
	os.Exit(m.Run())
}

type listener struct{ net.Listener }

func startListener(context.Context, *Options) (listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	return listener{l}, err
}

func (l listener) Env() []string { return []string{"SERVER=" + l.Addr().String()} }

func (l listener) Stop() error {
	fmt.Println("stopped")
	return l.Close()
}

// this starts the command, and returns it with its output.
func this(t *testing.T, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	check.Must(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "SERVING_COMMAND=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	check.Must(t, err)
	check.Must(t, cmd.Start())
	return cmd, bufio.NewReader(out)
}

func TestExecRunsACommandWithItsServer(t *testing.T) {
	cmd, out := this(t, "--", "sh", "-c", `echo "$SERVER"; exit 7`)
	var all bytes.Buffer
	_, err := all.ReadFrom(out)
	check.Must(t, err)
	_ = cmd.Wait()
	check.Equal(t, cmd.ProcessState.ExitCode(), 7)
	check.True(t, strings.HasPrefix(all.String(), "127.0.0.1:"), all.String())
	check.True(t, strings.HasSuffix(all.String(), "\nstopped\n"), all.String())
}

// Without a command, the server runs until it is interrupted.
func TestExecForwardsSignals(t *testing.T) {
	loop := []string{"--", "sh", "-c", `trap 'exit 9' TERM; echo "$SERVER"; while :; do sleep 0.01; done`}
	for _, c := range []struct {
		args   []string
		signal os.Signal
		code   int
	}{{loop, syscall.SIGTERM, 9}, {nil, os.Interrupt, 0}} {
		cmd, out := this(t, c.args...)
		line, err := out.ReadString('\n')
		check.Must(t, err)
		conn, err := net.Dial("tcp", strings.TrimSpace(line))
		check.Must(t, err)
		check.Nil(t, conn.Close())
		check.Must(t, cmd.Process.Signal(c.signal))
		_, err = io.Copy(io.Discard, out)
		check.Nil(t, err)
		_ = cmd.Wait()
		check.Equal(t, cmd.ProcessState.ExitCode(), c.code, c.args)
	}
}
