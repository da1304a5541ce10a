package dynamodblocal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const fetchTimeout = 10 * time.Minute

// source is an archive of the program with pinned content.
type source struct {
	name   string // also the directory it is unpacked to
	sha256 string
	prefix string // of the wanted files in the archive
	fetch  func(ctx context.Context, dir string) (archive string, err error)
}

// The vendor's URL carries a date and the archive under it does not change;
// the one that ends in "latest" does. Its checksum is the one that Amazon
// publishes beside it.
func sources() []source {
	return []source{
		{
			name:   "3.3.1",
			sha256: "f80bcec477f85f57e2c77f8d54aa6b672a8403fceff0c450560aee1cf6c21163",
			fetch:  download("https://d1ni2b6xgvw0s0.cloudfront.net/v2.x/dynamodb_local_2026-07-31.tar.gz"),
		},
		{
			name:   "1.25.1",
			sha256: "3503ffac19f183407909fecdacf4db51ab1fdad1da7b2f177016670b2d80e4b9",
			prefix: "package/emulator/",
			fetch:  npmPack("amplify-dynamodb-simulator", "2.9.30"),
		},
	}
}

func defaultCacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("dynamodblocal: %w", err)
	}
	return filepath.Join(dir, "once", "dynamodb-local"), nil
}

func install(ctx context.Context, c Options) (string, error) {
	return installFrom(ctx, c, sources())
}

// installFrom returns the directory of the program, from the first source in the cache,
// or else from the first source that can be fetched.
func installFrom(ctx context.Context, c Options, from []source) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	// One process fetches, and the others wait for it: the tests of a dozen
	// packages start at the same time.
	unlock, err := lock(ctx, filepath.Join(c.CacheDir, "fetch.lock"))
	if err != nil {
		return "", err
	}
	dir, err := installLocked(ctx, c, from)
	return dir, errors.Join(err, unlock())
}

func installLocked(ctx context.Context, c Options, from []source) (string, error) {
	for _, s := range from {
		dir := filepath.Join(c.CacheDir, s.name)
		if _, err := os.Stat(dir); err == nil {
			return dir, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	// Remove what a killed process left. This process has the lock, so no other one
	// is writing there.
	left, err := filepath.Glob(filepath.Join(c.CacheDir, ".fetch-*"))
	if err != nil {
		return "", err
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return "", err
		}
	}
	var errs []error
	for _, s := range from {
		_, err := fmt.Fprintf(c.Log, "fetching DynamoDB Local %s\n", s.name)
		if err != nil {
			return "", fmt.Errorf("dynamodblocal: log: %w", err)
		}
		dir := filepath.Join(c.CacheDir, s.name)
		if err = fetchInto(ctx, s, dir); err == nil {
			return dir, nil
		}
		if _, logErr := fmt.Fprintf(c.Log, "DynamoDB Local %s is not to be had: %v\n", s.name, err); logErr != nil {
			return "", fmt.Errorf("dynamodblocal: log: %w", logErr)
		}
		errs = append(errs, fmt.Errorf("DynamoDB Local %s: %w", s.name, err))
	}
	return "", errors.Join(errs...)
}

// fetchInto writes to a temporary directory and renames it to dir, so that dir is
// always complete.
func fetchInto(ctx context.Context, s source, dir string) (err error) {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".fetch-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	archive, err := s.fetch(ctx, tmp)
	if err != nil {
		return err
	}
	if err := verify(archive, s.sha256); err != nil {
		return err
	}
	unpacked := filepath.Join(tmp, "unpacked")
	if err := unpack(archive, s.prefix, unpacked); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(unpacked, "DynamoDBLocal.jar")); err != nil {
		return fmt.Errorf("unknown form of archive: %w", err)
	}
	return os.Rename(unpacked, dir)
}

func verify(path, want string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("archive with SHA-256 %s, want %s", got, want)
	}
	return nil
}

func download(url string) func(context.Context, string) (string, error) {
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

// npmPack fetches the package with npm, which uses the registry and the proxy that the
// user has configured.
func npmPack(name, version string) func(context.Context, string) (string, error) {
	return func(ctx context.Context, dir string) (string, error) {
		cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", name+"@"+version)
		cmd.Dir = dir
		cmd.WaitDelay = 5 * time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("npm pack: %w: %s", err, strings.TrimSpace(string(out)))
		}
		return filepath.Join(dir, name+"-"+version+".tgz"), nil
	}
}
