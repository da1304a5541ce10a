package redislocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/lambda-once/once/internal/fetch"
	"github.com/lambda-once/once/internal/serving"
	"github.com/lambda-once/once/internal/supervise"
)

// install returns the server of Debian's packages, from the cache or fetched. apt
// checks their signatures, so that no version is pinned here.
func install(ctx context.Context, o serving.Options) (server supervise.Command, err error) {
	dir := filepath.Join(o.CacheDir, "debian")
	err = fetch.Locked(ctx, o.CacheDir, func(ctx context.Context) (err error) {
		if server, err = unpacked(ctx, dir); err == nil {
			return nil
		}
		// It is missing, or the system has changed below it.
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if _, err := exec.LookPath("apt-get"); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(o.Log, "fetching Debian's package of a server"); err != nil {
			return err
		}
		err = fetch.Fill(dir, func(tmp string) (string, error) { return unpackDebian(ctx, tmp) })
		if err == nil {
			server, err = unpacked(ctx, dir)
		}
		return err
	})
	return server, err
}

// unpackDebian unpacks the packages of a server into a directory below tmp: its own, and
// those of the libraries that are not installed.
func unpackDebian(ctx context.Context, tmp string) (root string, err error) {
	root = filepath.Join(tmp, "root")
	archives := filepath.Join(tmp, "archives")
	for _, dir := range []string{filepath.Join(tmp, "lists", "partial"), filepath.Join(tmp, "cache", "archives", "partial"), archives} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	run := func(path string, args ...string) (string, error) {
		return supervise.Run(ctx, supervise.Command{
			Path: path, Args: args, Dir: archives, Env: append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"),
		})
	}
	// Lists of its own: those of the system are missing or old, and only root may
	// fetch them.
	apt := func(args ...string) (string, error) {
		return run("apt-get", append([]string{
			"-o", "Dir::State::Lists=" + filepath.Join(tmp, "lists"), "-o", "Dir::Cache=" + filepath.Join(tmp, "cache"),
			"-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=", "-q",
		}, args...)...)
	}
	if _, err := apt("update"); err != nil {
		return "", err
	}
	var packages []string
	var errs []error
	for _, name := range names {
		plan, err := apt("install", "--simulate", "--no-install-recommends", name)
		errs = append(errs, err)
		if packages = planned(plan); len(packages) > 0 {
			break
		}
	}
	if len(packages) == 0 {
		return "", errors.Join(errs...)
	}
	if _, err := apt(append([]string{"download"}, packages...)...); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(archives, "*.deb"))
	if err != nil {
		return "", err
	}
	for _, file := range files {
		if _, err := run("dpkg-deb", "--extract", file, root); err != nil {
			return "", err
		}
	}
	_, err = unpacked(ctx, root)
	return root, err
}

var planLine = regexp.MustCompile(`(?m)^Inst (\S+) `)

// planned returns the packages that apt would install.
func planned(plan string) (names []string) {
	for _, line := range planLine.FindAllStringSubmatch(plan, -1) {
		names = append(names, line[1])
	}
	return names
}

// unpacked returns the server of the packages that are unpacked in dir. It may lack a
// library.
func unpacked(ctx context.Context, dir string) (server supervise.Command, err error) {
	var libraries []string
	for _, lib := range []string{"lib", "usr/lib"} {
		found, err := filepath.Glob(filepath.Join(dir, lib, "*"))
		if err != nil {
			return server, err
		}
		libraries = append(libraries, found...)
	}
	server.Env = env("LD_LIBRARY_PATH=" + strings.Join(libraries, ":"))
	var errs []error
	for _, name := range names {
		server.Path, server.Args = filepath.Join(dir, "usr", "bin", name), []string{"--version"}
		if _, err = supervise.Run(ctx, server); err == nil {
			return server, nil
		}
		errs = append(errs, err)
	}
	return server, errors.Join(errs...)
}
