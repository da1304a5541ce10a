package lambdaruntime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build compiles the main package pkg, relative to dir, for this machine. It returns
// the binary in a temporary directory of its own, which the caller removes:
// os.RemoveAll(filepath.Dir(binary)).
func Build(ctx context.Context, dir, pkg string) (binary string, err error) {
	out, err := os.MkdirTemp("", "once-lambda-")
	if err != nil {
		return "", fmt.Errorf("lambdaruntime: %w", err)
	}
	// The name that AWS requires, and without cgo and paths of this machine, as deployed.
	binary = filepath.Join(out, "bootstrap")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		err = fmt.Errorf("lambdaruntime: go build %s: %w\n%s", pkg, err, strings.TrimSpace(string(said)))
		return "", errors.Join(err, os.RemoveAll(out))
	}
	return binary, nil
}
