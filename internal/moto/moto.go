// Package moto starts moto, which stands in for services of AWS in tests.
package moto

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/notrun"
	"github.com/lambda-once/once/internal/serving"
	"github.com/lambda-once/once/internal/supervise"
)

const program = "moto_server"

var kind = serving.Kind{
	Package: "moto", Name: "moto", URL: "http://%s", Answers: reset,
	Find: func(context.Context, serving.Options) (serving.Program, error) {
		return serving.Program{Command: func(_, port string) (supervise.Command, error) {
			return supervise.Command{Path: program, Args: []string{"-p", port}, Env: os.Environ()}, nil
		}}, nil
	},
}

// server starts the server of this process, with which it ends: Python takes a second to start.
var server = sync.OnceValues(func() (url string, err error) {
	url, _, err = kind.Start(context.Background(), nil)
	return url, err
})

// Start returns the URL of the process's server, which has forgotten the tests before: one at a
// time uses it. Where moto is not installed, the test is not run, and says so.
func Start(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		notrun.Say(t, program+" is not installed: pip install 'moto[server]'")
		t.SkipNow()
	}
	url, err := server()
	check.Must(t, err)
	check.Must(t, reset(t.Context(), url))
	return url
}

// reset makes the server at a URL forget everything.
func reset(ctx context.Context, url string) error {
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
