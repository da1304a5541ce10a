package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lambda-once/once/internal/supervise"
)

// Download returns a Fetch of the archive under url.
func Download(url string) func(context.Context, string) (string, error) {
	return func(ctx context.Context, dir string) (_ string, err error) {
		// Closed networks often drop packets: the wait for a response must be
		// short, but the transfer may take long.
		client := &http.Client{Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSHandshakeTimeout:   5 * time.Second,
			ResponseHeaderTimeout: 10 * time.Second,
		}}
		defer client.CloseIdleConnections()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return "", err
		}
		res, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, res.Body.Close()) }()
		if res.StatusCode != http.StatusOK {
			return "", fmt.Errorf("GET %s: %s", url, res.Status)
		}
		f, err := os.Create(filepath.Join(dir, "archive.tar.gz"))
		if err != nil {
			return "", err
		}
		_, err = io.Copy(f, res.Body)
		return f.Name(), errors.Join(err, f.Close())
	}
}

// NpmPack returns a Fetch of a package with npm, which uses the registry and the proxy
// that the user has configured.
func NpmPack(name, version string) func(context.Context, string) (string, error) {
	return func(ctx context.Context, dir string) (string, error) {
		pack := supervise.Command{Path: "npm", Args: []string{"pack", "--silent", name + "@" + version}, Env: os.Environ(), Dir: dir}
		if _, err := supervise.Run(ctx, pack); err != nil {
			return "", err
		}
		// "@scope/name" becomes "scope-name".
		file := strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-")
		return filepath.Join(dir, file+"-"+version+".tgz"), nil
	}
}
