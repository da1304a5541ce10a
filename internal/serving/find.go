package serving

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/lambda-once/once/internal/fetch"
	"github.com/lambda-once/once/internal/supervise"
)

// Installed returns the path of the first program that prints at least the oldest wanted
// version. Each program is a path, or a name on PATH. It is called with the flag, because
// a program can lack a library, or only print where to download it. The pattern matches
// the major version.
func Installed(
	ctx context.Context, programs []string, flag string, pattern *regexp.Regexp, oldest int,
) (path string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var errs []error
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err == nil {
			err = checkVersion(ctx, path, flag, pattern, oldest)
		}
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

func checkVersion(ctx context.Context, path, flag string, pattern *regexp.Regexp, oldest int) error {
	out, err := supervise.Run(ctx, supervise.Command{Path: path, Args: []string{flag}, Env: os.Environ()})
	if err != nil {
		return err
	}
	m := pattern.FindStringSubmatch(out)
	if m == nil {
		return fmt.Errorf("%s prints no version: %q", path, out)
	}
	if major, err := strconv.Atoi(m[1]); err != nil || major < oldest {
		return fmt.Errorf("%s has version %s, older than %d", path, m[1], oldest)
	}
	return nil
}

// find returns a program, or else a container of the image. Docker may reach the same
// program where a download failed.
func (k Kind) find(ctx context.Context, o Options) (Program, error) {
	p, err := k.Find(ctx, o)
	if err == nil || k.Docker == nil {
		return p, err
	}
	docker, noDocker := findDocker(ctx)
	if noDocker != nil {
		return p, fmt.Errorf("%w; Docker: %w", err, noDocker)
	}
	return k.container(ctx, o, docker)
}

// findDocker returns a docker command whose engine is running. The command is often
// installed without one.
func findDocker(ctx context.Context) (string, error) {
	path, err := exec.LookPath("docker")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := docker(ctx, path, "version", "--format", "{{.Server.Version}}"); err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// container fetches the image, and returns the program that runs it.
func (k Kind) container(ctx context.Context, o Options, path string) (Program, error) {
	if _, err := fmt.Fprintf(o.Log, "fetching the image %s\n", k.Image); err != nil {
		return Program{}, fmt.Errorf("%s: log: %w", k.Package, err)
	}
	ctx, cancel := context.WithTimeout(ctx, fetch.Timeout)
	defer cancel()
	if err := docker(ctx, path, "pull", "--quiet", k.Image); err != nil {
		return Program{}, fmt.Errorf("%s: %w", k.Package, err)
	}
	return Program{Command: func(dir, port string) (supervise.Command, error) {
		name := filepath.Base(dir)
		return supervise.Command{
			Path: path,
			Args: append([]string{"run", "--rm", "--name", name}, k.Docker(port)...),
			Env:  os.Environ(), // DOCKER_HOST and the like
			// The container belongs to the engine: killing the docker command
			// does not stop it.
			Orphaned: []string{path, "rm", "--force", name},
		}, nil
	}}, nil
}

func docker(ctx context.Context, path string, args ...string) error {
	if _, err := supervise.Run(ctx, supervise.Command{Path: path, Args: args, Env: os.Environ()}); err != nil {
		return fmt.Errorf("docker %s: %w", args[0], err)
	}
	return nil
}
