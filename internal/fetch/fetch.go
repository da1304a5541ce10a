// Package fetch installs the programs that tests run as servers: each once for every
// user, in a pinned version with a pinned SHA-256.
package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
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
func (p Program) Install(ctx context.Context) (dir string, err error) {
	err = Locked(ctx, p.CacheDir, func(ctx context.Context) (err error) {
		dir, err = p.install(ctx)
		return err
	})
	return dir, err
}

func (p Program) install(ctx context.Context) (string, error) {
	for _, s := range p.Sources {
		dir := filepath.Join(p.CacheDir, s.Version)
		if _, err := os.Stat(dir); err == nil || !errors.Is(err, os.ErrNotExist) {
			return dir, err
		}
	}
	var errs []error
	for _, s := range p.Sources {
		if _, err := fmt.Fprintf(p.Log, "fetching %s %s\n", p.Name, s.Version); err != nil {
			return "", fmt.Errorf("fetch: log: %w", err)
		}
		dir := filepath.Join(p.CacheDir, s.Version)
		err := Fill(dir, func(tmp string) (string, error) { return p.unpack(ctx, s, tmp) })
		if err == nil {
			return dir, nil
		}
		if _, logErr := fmt.Fprintf(p.Log, "%s %s is not to be had: %v\n", p.Name, s.Version, err); logErr != nil {
			return "", fmt.Errorf("fetch: log: %w", logErr)
		}
		errs = append(errs, fmt.Errorf("%s %s: %w", p.Name, s.Version, err))
	}
	return "", errors.Join(errs...)
}

func (p Program) unpack(ctx context.Context, s Source, tmp string) (dir string, err error) {
	archive, err := s.Fetch(ctx, tmp)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(archive)
	if err != nil {
		return "", err
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(text)); got != s.SHA256 {
		return "", fmt.Errorf("archive with SHA-256 %s, want %s", got, s.SHA256)
	}
	dir = filepath.Join(tmp, "unpacked")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	// os.Root refuses every path that leads out of dir, also through links.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := unpack(bytes.NewReader(text), s.Prefix, root); err != nil {
		return "", err
	}
	if _, err := root.Stat(p.File); err != nil {
		return "", fmt.Errorf("unknown form of archive: %w", err)
	}
	if s.Finish != nil {
		return dir, s.Finish(root)
	}
	return dir, nil
}

// unpack writes the regular files of a .tar.gz whose names begin with prefix to root. It
// writes nothing outside, even from a malicious archive.
func unpack(archive io.Reader, prefix string, root *os.Root) error {
	z, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		// Archives made with "tar c ." have names that begin with "./".
		name, ok := strings.CutPrefix(strings.TrimPrefix(h.Name, "./"), prefix)
		if !ok || h.Typeflag != tar.TypeReg {
			continue
		}
		if !fs.ValidPath(name) {
			return fmt.Errorf("the archive contains a file %q", h.Name)
		}
		if err := writeFile(root, name, h.FileInfo().Mode()&0o111, r); err != nil {
			return err
		}
	}
}

func writeFile(root *os.Root, name string, executable fs.FileMode, from io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644|executable)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
