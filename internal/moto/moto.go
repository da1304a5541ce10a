// Package moto starts moto, which stands in for services of AWS in tests.
package moto

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/notrun"
	"github.com/lambda-once/once/internal/supervise"
)

// Start starts a server that ends with the test, and returns its URL. Without
// moto_server, the test is not run, and says so.
func Start(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("moto_server")
	if err != nil {
		notrun.Say(t, "moto_server is not installed: pip install 'moto[server]'")
		t.SkipNow()
	}
	out, in := io.Pipe()
	server, err := supervise.Start(supervise.Command{Path: path, Args: []string{"-p", "0"}, Env: os.Environ(), Output: in})
	check.Must(t, err)
	go func() {
		<-server.Done()
		in.Close()
	}()
	t.Cleanup(func() { check.Nil(t, errors.Join(out.Close(), server.Kill())) })
	said := ""
	for lines := bufio.NewScanner(out); lines.Scan(); said += lines.Text() + "\n" {
		if url := regexp.MustCompile(`Running on (http://\S+)`).FindStringSubmatch(lines.Text()); url != nil {
			go io.Copy(io.Discard, out)
			return url[1]
		}
	}
	t.Fatalf("moto_server ended:\n%s", said)
	return ""
}
