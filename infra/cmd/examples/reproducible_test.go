package main

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
)

// CDK and CloudFormation replace a function when the hash of its zip changes. Each
// build here is in a folder of its own, the second one in a commit, at a later time,
// and with a time zone and a umask of its own.
func TestBuildsAreReproducible(t *testing.T) {
	first := builds(t, "umask 022", "TZ=UTC")
	second := builds(t, "umask 077 && "+commit, "TZ=Pacific/Kiritimati", "GOFLAGS=-buildvcs=true")
	for name := range union(first, second) {
		check.Equal(t, bytes.Equal(first[name], second[name]), true, name)
		z, err := zip.NewReader(bytes.NewReader(first[name]), int64(len(first[name])))
		check.Must(t, err)
		check.Equal(t, len(z.File), 1, name)
		check.Equal(t, z.File[0].Name, "bootstrap", name)
		check.Equal(t, z.File[0].Mode(), fs.FileMode(0o755), name)
	}
	check.Equal(t, len(first) >= 6, true, len(first), "functions")
}

const commit = "git init -q && git add Makefile && git -c user.name=t -c user.email=t@example.com commit -q -m t"

// builds returns the zips that make build makes in a copy of the sources.
func builds(t *testing.T, before string, environment ...string) map[string][]byte {
	t.Helper()
	root, err := filepath.Abs("../../..")
	check.Must(t, err)
	copied := t.TempDir()
	check.Must(t, copySources(copied, root))
	build := exec.CommandContext(t.Context(), "sh", "-c", before+" && exec make build ARCH="+runtime.GOARCH)
	build.Dir = copied
	build.Env = append(build.Environ(), environment...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	zips, err := filepath.Glob(filepath.Join(copied, "build", "*", "bootstrap.zip"))
	check.Must(t, err)
	built := map[string][]byte{}
	for _, file := range zips {
		built[filepath.Base(filepath.Dir(file))] = []byte(read(t, file))
	}
	return built
}

// copySources copies the sources of the functions.
func copySources(to, root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if strings.HasPrefix(entry.Name(), ".git") || slices.Contains([]string{"bin", "build", "testdata"}, name) {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		if base := entry.Name(); base != "Makefile" && !strings.HasPrefix(base, "go.") && filepath.Ext(base) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o644)
	})
}
