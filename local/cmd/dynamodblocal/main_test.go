package main

import (
	"bufio"
	"bytes"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// The test binary stands for the command: it does no more than main.
func TestMain(m *testing.M) {
	if os.Getenv("DYNAMODBLOCAL_COMMAND") != "" {
		main()
	}
	os.Exit(m.Run())
}

func this(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	check.Must(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "DYNAMODBLOCAL_COMMAND=1", "AWS_ENDPOINT_URL_DYNAMODB=")
	cmd.Stderr = os.Stderr
	return cmd
}

func listens(endpoint string) bool {
	conn, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "http://"))
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func TestRunsACommand(t *testing.T) {
	cmd := this(t, "--", "sh", "-c", `echo "$AWS_ENDPOINT_URL_DYNAMODB"; exit 7`)
	var out bytes.Buffer
	cmd.Stdout = &out
	_ = cmd.Run()
	check.Equal(t, cmd.ProcessState.ExitCode(), 7)
	endpoint := strings.TrimSpace(out.String())
	check.True(t, strings.HasPrefix(endpoint, "http://127.0.0.1:"))
	check.False(t, listens(endpoint))
}

func TestPassesSignalsOn(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server of its own")
	}
	cmd := this(t, "--", "sh", "-c", `trap 'exit 9' TERM; echo "$AWS_ENDPOINT_URL_DYNAMODB"; while :; do sleep 0.01; done`)
	interrupt(t, cmd, syscall.SIGTERM, 9)
}

func TestRunsUntilInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server of its own")
	}
	interrupt(t, this(t), os.Interrupt, 0)
}

// interrupt sends a signal once the endpoint has been printed.
func interrupt(t *testing.T, cmd *exec.Cmd, s os.Signal, want int) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	check.Must(t, err)
	check.Must(t, cmd.Start())
	endpoint, err := bufio.NewReader(out).ReadString('\n')
	check.Must(t, err)
	endpoint = strings.TrimSpace(endpoint)
	check.True(t, listens(endpoint), "does not listen")
	check.Must(t, cmd.Process.Signal(s))
	_ = cmd.Wait()
	check.Equal(t, cmd.ProcessState.ExitCode(), want)
	check.False(t, listens(endpoint), "listens on")
}
