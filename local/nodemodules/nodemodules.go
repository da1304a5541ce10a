// Package nodemodules installs programs for Node with the packages that they
// need.
package nodemodules

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
	"time"
)

// Install returns a folder with the files of sources and the packages of their
// package-lock.json. npm installs them from the registry that the user has
// configured, once for each content of the files, into the user's cache. The name
// is that of the program.
func Install(ctx context.Context, name string, sources fs.FS, log io.Writer) (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum, err := digest(sources)
	if err != nil {
		return "", err
	}
	parent := filepath.Join(cache, "once", name)
	dir = filepath.Join(parent, sum)
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
	if _, err := fmt.Fprintf(log, "installing the packages of %s for Node\n", name); err != nil {
		return "", err
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir, npm.WaitDelay = tmp, 5*time.Second
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w: %s", err, bytes.TrimSpace(out))
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, other := os.Stat(dir); other != nil { // a concurrent process was faster, or not
			return "", err
		}
	}
	return dir, nil
}

// digest returns a digest of all names and contents.
func digest(sources fs.FS) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(sources, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(sources, name)
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
		return err
	})
	return fmt.Sprintf("%x", sum.Sum(nil)[:8]), err
}
