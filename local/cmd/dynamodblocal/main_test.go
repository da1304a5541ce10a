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
	if err != nil {
		t.Fatal(err)
	}
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
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("exited with %v, want 7", err)
	}
	endpoint := strings.TrimSpace(out.String())
	if !strings.HasPrefix(endpoint, "http://127.0.0.1:") || listens(endpoint) {
		t.Errorf("endpoint %q, and it listens: %v", endpoint, listens(endpoint))
	}
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
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	endpoint, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	endpoint = strings.TrimSpace(endpoint)
	if !listens(endpoint) {
		t.Errorf("%q does not listen", endpoint)
	}
	if err := cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != want {
		t.Errorf("exited with %v, want %d", err, want)
	}
	if listens(endpoint) {
		t.Errorf("%s listens on", endpoint)
	}
}
