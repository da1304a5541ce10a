package serving

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

	"github.com/lambda-once/once/local/fetch"
	"github.com/lambda-once/once/local/supervise"
)

// FindDocker returns a docker command whose engine is running. The command is often
// installed without one.
func FindDocker(ctx context.Context) (string, error) {
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

// An Image is a server that the command of FindDocker runs in a container.
type Image struct {
	// Name is the name of the image for docker pull.
	Name string
	// Container begins the unique name of each container.
	Container string
	// Args returns the arguments of docker run after the container's name:
	// options that lead the port to the server, the image, and the server's
	// arguments.
	Args func(port string) []string
}

// StartImage fetches the image and starts it, as Start does. It returns a function that
// stops the container.
func (l Launch) StartImage(ctx context.Context, path string, image Image) (addr string, stop func() error, err error) {
	if err := l.Logf("fetching the image %s", image.Name); err != nil {
		return "", nil, err
	}
	pull, cancel := context.WithTimeout(ctx, fetch.Timeout)
	defer cancel()
	if err := docker(pull, path, "pull", "--quiet", image.Name); err != nil {
		return "", nil, fmt.Errorf("%s: %w", l.Package, err)
	}
	var name string
	addr, p, err := l.Start(ctx, func(port string) supervise.Command {
		name = image.Container + strings.ToLower(rand.Text())
		return supervise.Command{
			Path:     path,
			Args:     append([]string{"run", "--rm", "--name", name}, image.Args(port)...),
			Env:      os.Environ(), // DOCKER_HOST and the like
			Orphaned: []string{path, "rm", "--force", name},
		}
	})
	// The container belongs to the engine: killing the docker command does not stop
	// it.
	remove := func() error {
		if err := docker(context.Background(), path, "rm", "--force", name); err != nil {
			return fmt.Errorf("%s: %w", l.Package, err)
		}
		return nil
	}
	if err != nil {
		if name != "" {
			err = errors.Join(err, remove())
		}
		return "", nil, err
	}
	return addr, func() error { return errors.Join(remove(), p.Kill()) }, nil
}

func docker(ctx context.Context, path string, args ...string) error {
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("docker %s: %w: %s", args[0], err, OneLine(out))
	}
	return nil
}
