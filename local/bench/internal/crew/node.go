package crew

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// install returns a folder with the worker and its packages. npm installs them once
// for each content of the files, from the registry that the user has configured.
func install(ctx context.Context, sources fs.FS, log io.Writer) (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum, files := sha256.New(), []string{"package.json", "package-lock.json", "worker.mjs"}
	for _, name := range files {
		text, err := fs.ReadFile(sources, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
	}
	parent := filepath.Join(cache, "once", "bench")
	dir = filepath.Join(parent, fmt.Sprintf("%x", sum.Sum(nil)[:8]))
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	// A folder of its own, then a rename: dir is always complete.
	tmp, err := os.MkdirTemp(parent, ".install-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := os.CopyFS(tmp, sources); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintln(log, "installing Powertools for TypeScript"); err != nil {
		return "", err
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir, npm.WaitDelay = tmp, 5*time.Second
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w: %s", err, bytes.TrimSpace(out))
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, other := os.Stat(dir); other != nil { // another process was faster, or not
			return "", err
		}
	}
	return dir, nil
}

// nodeVersion returns what node --version prints.
func nodeVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	return strings.TrimSpace(string(out)), err
}
