package redislocal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lambda-once/once/local/internal/fetch"
	"github.com/lambda-once/once/local/internal/supervise"
)

const dockerImage = "valkey/valkey:8.1"

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
		return "", fmt.Errorf("docker version: %w: %s", err, quoted(out))
	}
	return filepath.Abs(path)
}

func startDocker(ctx context.Context, c Options, docker string) (*Server, error) {
	if err := c.logf("fetching the image %s", dockerImage); err != nil {
		return nil, err
	}
	pull, cancel := context.WithTimeout(ctx, fetch.Timeout)
	defer cancel()
	if out, err := exec.CommandContext(pull, docker, "pull", "--quiet", dockerImage).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("redislocal: docker pull: %w: %s", err, quoted(out))
	}
	var name string
	s, err := start(ctx, c, func(port int) supervise.Command {
		name = "once-redis-" + strings.ToLower(rand.Text())
		// The container shares the network of the host: the nodes of a cluster
		// and replicas find each other by its ports.
		return supervise.Command{
			Path:     docker,
			Args:     append([]string{"run", "--rm", "--name", name, "--network", "host", dockerImage, "valkey-server"}, c.settings(port)...),
			Env:      os.Environ(), // DOCKER_HOST and the like
			Orphaned: []string{docker, "rm", "--force", name},
		}
	})
	if err != nil {
		return nil, err
	}
	kill := s.stop
	s.stop = sync.OnceValue(func() error {
		// The container belongs to the engine: killing the docker command would
		// not stop it.
		out, err := exec.Command(docker, "rm", "--force", name).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("redislocal: docker rm: %w: %s", err, quoted(out))
		}
		return errors.Join(err, kill())
	})
	return s, nil
}
