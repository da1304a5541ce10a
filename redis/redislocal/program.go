package redislocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lambda-once/once/local/serving"
)

// program is a server that can be started.
type program struct {
	path      string
	libraries []string // directories of shared libraries
}

// names are tried in this order, on PATH and as packages of Debian.
var names = []string{"valkey-server", "redis-server"}

func (p program) env() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	if len(p.libraries) > 0 {
		env = append(env, "LD_LIBRARY_PATH="+strings.Join(p.libraries, ":"))
	}
	return env
}

// check runs the program, which may lack a library.
func (p program) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	_, err := output(ctx, "", p.env(), p.path, "--version")
	return err
}

// output runs a program that ends by itself.
func output(ctx context.Context, dir string, env []string, path string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, 5*time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", path, err, serving.OneLine(out))
	}
	return out, nil
}

// findProgram returns the first program on PATH.
func findProgram(ctx context.Context) (program, error) {
	var errs []error
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		p := program{path: path}
		if err == nil {
			err = p.check(ctx)
		}
		if err == nil {
			return p, nil
		}
		errs = append(errs, err)
	}
	return program{}, errors.Join(errs...)
}
