// Package moto starts moto, which stands in for services of AWS in tests.
package moto

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/notrun"
	"github.com/lambda-once/once/internal/serving"
	"github.com/lambda-once/once/internal/supervise"
)

const program = "moto_server"

var kind = serving.Kind{
	Package: "moto", Name: "moto", URL: "http://%s", Answers: Reset,
	Find: func(context.Context, serving.Options) (serving.Program, error) {
		return serving.Program{Command: func(_, port string) (supervise.Command, error) {
			return supervise.Command{Path: program, Args: []string{"-p", port}, Env: os.Environ()}, nil
		}}, nil
	},
}

// Need ends the test where moto is not installed. The test is then not run, and says so.
func Need(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		notrun.Say(t, program+" is not installed: pip install 'moto[server]'")
		t.SkipNow()
	}
}

// Start starts a server, and returns its URL and a function that stops it.
func Start(ctx context.Context) (url string, stop func() error, err error) {
	return kind.Start(ctx, nil)
}

// ForTest starts a server that ends with the test, and returns its URL. See [Need].
func ForTest(t *testing.T) string {
	t.Helper()
	Need(t)
	url, stop, err := Start(t.Context())
	check.Must(t, err)
	t.Cleanup(func() { check.Nil(t, stop()) })
	return url
}

// Reset makes the server at a URL forget everything.
func Reset(ctx context.Context, url string) error {
	in, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/moto-api/reset", nil)
	if err != nil {
		return err
	}
	out, err := http.DefaultClient.Do(in)
	if err != nil {
		return err
	}
	return out.Body.Close()
}
