// Package nodemodules installs programs for Node with the packages that they
// need.
package nodemodules

import (
	"archive/tar"
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

	"github.com/lambda-once/once/internal/fetch"
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
	digest := sha256.New()
	all := tar.NewWriter(digest)
	if err := errors.Join(all.AddFS(sources), all.Close()); err != nil {
		return "", err
	}
	parent := filepath.Join(cache, "once", name)
	dir = filepath.Join(parent, fmt.Sprintf("%x", digest.Sum(nil)[:8]))
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	err = fetch.Fill(dir, func(tmp string) (string, error) {
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
		return tmp, nil
	})
	if _, missing := os.Stat(dir); missing != nil { // a concurrent process was not faster
		return "", err
	}
	return dir, nil
}
