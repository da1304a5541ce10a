package main

import (
	"bytes"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// The test binary stands for the command: it does no more than main.
func TestMain(m *testing.M) {
	if os.Getenv("POSTGRESLOCAL_COMMAND") != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestRunsACommand(t *testing.T) {
	self, err := os.Executable()
	check.Must(t, err)
	cmd := exec.Command(self, "--", "sh", "-c", `echo "$POSTGRESLOCAL_URL"; exit 7`)
	cmd.Env = append(os.Environ(), "POSTGRESLOCAL_COMMAND=1", "POSTGRESLOCAL_URL=")
	cmd.Stderr = os.Stderr
	var out bytes.Buffer
	cmd.Stdout = &out
	_ = cmd.Run()
	check.Equal(t, cmd.ProcessState.ExitCode(), 7)
	u, err := url.Parse(strings.TrimSpace(out.String()))
	if err != nil || !strings.HasPrefix(u.Host, "127.0.0.1:") {
		t.Fatalf("URL %q, %v", &out, err)
	}
	_, err = net.Dial("tcp", u.Host)
	check.Failed(t, err, "listens on")
}
