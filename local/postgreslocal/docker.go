package postgreslocal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lambda-once/once/local/internal/fetch"
	"github.com/lambda-once/once/local/internal/supervise"
)

const dockerImage = "postgres:18.1"

// findDocker returns a docker command whose engine is running. The command is often
// installed without one.
func findDocker(ctx context.Context) (string, error) {
	path, err := exec.LookPath("docker")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "version", "--format", "{{.Server.Version}}").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("docker version: %w: %s", err, quoted(string(out)))
	}
	return filepath.Abs(path)
}

func startDocker(ctx context.Context, c Options, docker string) (*Server, error) {
	if _, err := fmt.Fprintf(c.Log, "fetching the image %s\n", dockerImage); err != nil {
		return nil, fmt.Errorf("postgreslocal: log: %w", err)
	}
	pull, cancel := context.WithTimeout(ctx, fetch.Timeout)
	defer cancel()
	if out, err := exec.CommandContext(pull, docker, "pull", "--quiet", dockerImage).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("postgreslocal: docker pull: %w: %s", err, quoted(string(out)))
	}
	ctx, cancel = context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	var name string
	s, err := start(ctx, c, func(port int) supervise.Command {
		name = "once-postgresql-" + strings.ToLower(rand.Text())
		return dockerCommand(docker, name, port)
	})
	if err != nil {
		return nil, err
	}
	kill := s.stop
	s.stop = func() error {
		// The container belongs to the engine: killing the docker command would
		// not stop it.
		out, err := exec.Command(docker, "rm", "--force", name).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("postgreslocal: docker rm: %w: %s", err, quoted(string(out)))
		}
		return errors.Join(err, kill())
	}
	return s, nil
}

func dockerCommand(docker, name string, port int) supervise.Command {
	args := []string{
		"run", "--rm", "--name", name, "--publish", fmt.Sprintf("127.0.0.1:%d:5432", port),
		"--env", "POSTGRES_USER=" + superuser, "--env", "POSTGRES_DB=postgres", "--env", "POSTGRES_HOST_AUTH_METHOD=trust", dockerImage,
	}
	return supervise.Command{
		Path:     docker,
		Args:     append(args, settings...),
		Env:      os.Environ(), // DOCKER_HOST and the like
		Orphaned: []string{docker, "rm", "--force", name},
	}
}
