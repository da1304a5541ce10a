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
	cmd := exec.CommandContext(ctx, p.path, "--version")
	cmd.Env = p.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s --version: %w: %s", p.path, err, serving.OneLine(out))
	}
	return nil
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
