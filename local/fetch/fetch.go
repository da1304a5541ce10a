// Package fetch installs the programs that tests run as servers: each once for every
// user, in a pinned version with a pinned SHA-256.
package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Timeout limits one installation.
const Timeout = 10 * time.Minute

// A Program is a program to install.
type Program struct {
	// Name is the name of the program in errors and in the log.
	Name string
	// CacheDir contains a directory for each installed source.
	CacheDir string
	// File is a file that every source contains.
	File string
	// Log receives a line for each source that is tried.
	Log io.Writer
	// Sources are tried in order.
	Sources []Source
}

// A Source is an archive of a program with pinned content.
type Source struct {
	// Version is also the name of the directory in the cache.
	Version string
	SHA256  string
	// Prefix is the beginning of the wanted files' names in the archive.
	Prefix string
	// Fetch writes the archive, a .tar.gz, to a file in dir.
	Fetch func(ctx context.Context, dir string) (archive string, err error)
	// Finish completes the unpacked files before they become visible. May be nil.
	Finish func(root *os.Root) error
}

// Install returns the directory of the program, from the first source in the cache,
// or else from the first source that can be fetched.
func (p Program) Install(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	// One process fetches, and the rest wait for it: the tests of a dozen
	// packages start at the same time.
	unlock, err := Lock(ctx, filepath.Join(p.CacheDir, "fetch.lock"))
	if err != nil {
		return "", err
	}
	dir, err := p.installLocked(ctx)
	return dir, errors.Join(err, unlock())
}

func (p Program) installLocked(ctx context.Context) (string, error) {
	for _, s := range p.Sources {
		dir := filepath.Join(p.CacheDir, s.Version)
		if _, err := os.Stat(dir); err == nil {
			return dir, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	// Remove the leftovers of a killed process. This process has the lock, so none
	// is writing there.
	left, err := filepath.Glob(filepath.Join(p.CacheDir, ".fetch-*"))
	if err != nil {
		return "", err
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return "", err
		}
	}
	var errs []error
	for _, s := range p.Sources {
		_, err := fmt.Fprintf(p.Log, "fetching %s %s\n", p.Name, s.Version)
		if err != nil {
			return "", fmt.Errorf("fetch: log: %w", err)
		}
		dir := filepath.Join(p.CacheDir, s.Version)
		if err = p.fetchInto(ctx, s, dir); err == nil {
			return dir, nil
		}
		if _, logErr := fmt.Fprintf(p.Log, "%s %s is not to be had: %v\n", p.Name, s.Version, err); logErr != nil {
			return "", fmt.Errorf("fetch: log: %w", logErr)
		}
		errs = append(errs, fmt.Errorf("%s %s: %w", p.Name, s.Version, err))
	}
	return "", errors.Join(errs...)
}

// fetchInto writes to a temporary directory and renames it to dir, so that dir is
// always complete.
func (p Program) fetchInto(ctx context.Context, s Source, dir string) (err error) {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".fetch-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	archive, err := s.Fetch(ctx, tmp)
	if err != nil {
		return err
	}
	if err := verify(archive, s.SHA256); err != nil {
		return err
	}
	unpacked := filepath.Join(tmp, "unpacked")
	if err := unpack(archive, s.Prefix, unpacked); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(unpacked, p.File)); err != nil {
		return fmt.Errorf("unknown form of archive: %w", err)
	}
	if s.Finish != nil {
		if err := finish(s, unpacked); err != nil {
			return err
		}
	}
	return os.Rename(unpacked, dir)
}

func finish(s Source, dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return s.Finish(root)
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
