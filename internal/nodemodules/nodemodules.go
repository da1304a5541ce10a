// Package nodemodules installs programs for Node with the packages that they
// need.
package nodemodules

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lambda-once/once/internal/fetch"
	"github.com/lambda-once/once/internal/supervise"
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
	err = fetch.Locked(ctx, parent, func(ctx context.Context) error {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return fetch.Fill(dir, func(tmp string) (string, error) {
			if err := os.CopyFS(tmp, sources); err != nil {
				return "", err
			}
			if _, err := fmt.Fprintf(log, "installing the packages of %s for Node\n", name); err != nil {
				return "", err
			}
			args := []string{"ci", "--ignore-scripts", "--no-audit", "--no-fund"}
			_, err := supervise.Run(ctx, supervise.Command{Path: "npm", Args: args, Env: os.Environ(), Dir: tmp})
			return tmp, err
		})
	})
	return dir, err
}
