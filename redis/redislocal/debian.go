package redislocal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/lambda-once/once/local/fetch"
)

// install returns the server of Debian's packages, from the cache or fetched. apt
// checks their signatures, so that no version is pinned here.
func install(ctx context.Context, c config) (program, error) {
	ctx, cancel := context.WithTimeout(ctx, fetch.Timeout)
	defer cancel()
	// One process fetches, and the rest wait for it.
	unlock, err := fetch.Lock(ctx, filepath.Join(c.CacheDir, "fetch.lock"))
	if err != nil {
		return program{}, err
	}
	p, err := installLocked(ctx, c)
	return p, errors.Join(err, unlock())
}

func installLocked(ctx context.Context, c config) (_ program, err error) {
	dir := filepath.Join(c.CacheDir, "debian")
	if p, err := unpacked(dir); err == nil {
		if err := p.check(ctx); err == nil {
			return p, nil
		}
		// The system has changed below it.
		if err := os.RemoveAll(dir); err != nil {
			return program{}, fmt.Errorf("redislocal: %w", err)
		}
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return program{}, err
	}
	if err := c.Logf("fetching Debian's package of a server"); err != nil {
		return program{}, err
	}
	tmp, err := os.MkdirTemp(c.CacheDir, ".fetch-")
	if err != nil {
		return program{}, fmt.Errorf("redislocal: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := unpackDebian(ctx, tmp); err != nil {
		return program{}, err
	}
	p, err := unpacked(filepath.Join(tmp, "root"))
	if err == nil {
		err = p.check(ctx)
	}
	if err != nil {
		return program{}, err
	}
	if err := os.Rename(filepath.Join(tmp, "root"), dir); err != nil {
		return program{}, fmt.Errorf("redislocal: %w", err)
	}
	return unpacked(dir)
}

// unpackDebian unpacks the packages of a server into tmp/root: its own, and those of the
// libraries that are not installed.
func unpackDebian(ctx context.Context, tmp string) error {
	for _, dir := range []string{"lists/partial", "cache/archives/partial", "packages"} {
		if err := os.MkdirAll(filepath.Join(tmp, dir), 0o755); err != nil {
			return fmt.Errorf("redislocal: %w", err)
		}
	}
	// Lists of its own: those of the system are missing or old, and only root may
	// fetch them.
	apt := func(args ...string) ([]byte, error) {
		return output(ctx, filepath.Join(tmp, "packages"), debianEnv(), "apt-get", append([]string{
			"-o", "Dir::State::Lists=" + filepath.Join(tmp, "lists"), "-o", "Dir::Cache=" + filepath.Join(tmp, "cache"),
			"-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=", "-q",
		}, args...)...)
	}
	if _, err := apt("update"); err != nil {
		return err
	}
	var packages []string
	var errs []error
	for _, name := range names {
		plan, err := apt("install", "--simulate", "--no-install-recommends", name)
		if err == nil {
			packages = planned(plan)
		}
		if len(packages) > 0 {
			break
		}
		errs = append(errs, err)
	}
	if len(packages) == 0 {
		return errors.Join(errs...)
	}
	if _, err := apt(append([]string{"download"}, packages...)...); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(tmp, "packages", "*.deb"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if _, err := output(ctx, tmp, debianEnv(), "dpkg-deb", "--extract", file, filepath.Join(tmp, "root")); err != nil {
			return err
		}
	}
	return nil
}

func debianEnv() []string { return append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive") }

var planLine = regexp.MustCompile(`(?m)^Inst (\S+) `)

// planned returns the packages that apt would install.
func planned(plan []byte) []string {
	var all []string
	for _, m := range planLine.FindAllSubmatch(plan, -1) {
		all = append(all, string(m[1]))
	}
	return all
}

// unpacked returns the server below dir.
func unpacked(dir string) (program, error) {
	var p program
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		parent := filepath.Dir(path)
		switch {
		case slices.Contains(names, d.Name()) && filepath.Base(parent) == "bin":
			p.path = path
		case strings.Contains(d.Name(), ".so.") && !slices.Contains(p.libraries, parent):
			p.libraries = append(p.libraries, parent)
		}
		return nil
	})
	if err == nil && p.path == "" {
		err = fmt.Errorf("no server below %s", dir)
	}
	return p, err
}
