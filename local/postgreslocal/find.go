package postgreslocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// wanted is the oldest version that its developers still mend.
const wanted = 15

// findPrograms returns the directory of the installed initdb and postgres: the one on
// PATH, or else the newest one below root.
func findPrograms(ctx context.Context, root string) (string, error) {
	var candidates []string
	var errs []error
	if path, err := exec.LookPath("postgres"); err == nil {
		// A link on PATH leads to the directory that also contains initdb.
		if path, err = filepath.EvalSymlinks(path); err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			errs = append(errs, err)
		} else {
			candidates = append(candidates, filepath.Dir(path))
		}
	} else {
		errs = append(errs, err)
	}
	// Debian installs the programs of each version outside PATH.
	packaged, err := filepath.Glob(filepath.Join(root, "*", "bin"))
	if err != nil {
		return "", err
	}
	slices.SortFunc(packaged, func(a, b string) int { return versionOf(b) - versionOf(a) })
	for _, dir := range append(candidates, packaged...) {
		err := checkVersion(ctx, dir)
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// versionOf returns the 15 of /usr/lib/postgresql/15/bin, and 0 for other names.
func versionOf(bin string) int {
	v, err := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	if err != nil {
		return 0
	}
	return v
}

func checkVersion(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	path := filepath.Join(dir, "postgres")
	out, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s --version: %w: %s", path, err, out)
	}
	major, err := parseVersion(string(out))
	if err == nil && major < wanted {
		err = fmt.Errorf("%s is version %d, older than %d", path, major, wanted)
	}
	return err
}

var versionLine = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+)`)

func parseVersion(out string) (int, error) {
	m := versionLine.FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("no PostgreSQL version in %q", out)
	}
	return strconv.Atoi(m[1])
}
