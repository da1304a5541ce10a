package dynamodblocal

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

// The digest decides; the tag is for the reader.
const dockerImage = "amazon/dynamodb-local:3.3.1@sha256:ff89bd48ff32cd8d9be5fee8873b65b8854dc408f1afe881be6eb00247bc0dab"

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
		return "", fmt.Errorf("docker version: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return filepath.Abs(path)
}

func startDocker(ctx context.Context, c Options, docker string) (*Server, error) {
	if _, err := fmt.Fprintf(c.Log, "fetching the image %s\n", dockerImage); err != nil {
		return nil, fmt.Errorf("dynamodblocal: log: %w", err)
	}
	pull, cancel := context.WithTimeout(ctx, fetch.Timeout)
	defer cancel()
	if out, err := exec.CommandContext(pull, docker, "pull", "--quiet", dockerImage).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("dynamodblocal: docker pull: %w: %s", err, strings.TrimSpace(string(out)))
	}
	var name string
	s, err := start(ctx, c, func(port int) supervise.Command {
		name = "once-dynamodb-" + strings.ToLower(rand.Text())
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
			err = fmt.Errorf("dynamodblocal: docker rm: %w: %s", err, strings.TrimSpace(string(out)))
		}
		return errors.Join(err, kill())
	}
	return s, nil
}

func dockerCommand(docker, name string, port int) supervise.Command {
	return supervise.Command{
		Path: docker,
		Args: []string{
			"run", "--rm", "--name", name, "--publish", fmt.Sprintf("127.0.0.1:%d:8000", port), dockerImage,
			"-jar", "DynamoDBLocal.jar", "-inMemory", "-sharedDb", "-disableTelemetry",
		},
		Env:      os.Environ(), // DOCKER_HOST and the like
		Orphaned: []string{docker, "rm", "--force", name},
	}
}
