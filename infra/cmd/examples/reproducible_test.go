package main

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// CDK and CloudFormation replace a function whose zip has another hash. Each
// build here is in a folder of its own, the second one in a commit, at a later
// time, in another time zone and with another umask.
func TestBuildsAreReproducible(t *testing.T) {
	first := builds(t, "umask 022", "TZ=UTC")
	second := builds(t, "umask 077 && "+commit, "TZ=Pacific/Kiritimati", "GOFLAGS=-buildvcs=true")
	for name := range union(first, second) {
		if !bytes.Equal(first[name], second[name]) {
			t.Errorf("%s differs between two builds", name)
		}
		z, err := zip.NewReader(bytes.NewReader(first[name]), int64(len(first[name])))
		if err != nil {
			t.Fatal(err)
		}
		if len(z.File) != 1 || z.File[0].Name != "bootstrap" || z.File[0].Mode() != 0o755 {
			t.Errorf("%s contains %v", name, z.File)
		}
	}
	if len(first) < 5 {
		t.Errorf("built %d functions", len(first))
	}
}

const commit = "git init -q && git add Makefile && git -c user.name=t -c user.email=t@example.com commit -q -m t"

// builds returns the zips that make build makes in a copy of the sources.
func builds(t *testing.T, before string, environment ...string) map[string][]byte {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	if err := copySources(copied, root); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "sh", "-c", before+" && exec make build")
	build.Dir = copied
	build.Env = append(build.Environ(), environment...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	zips, err := filepath.Glob(filepath.Join(copied, "build", "*", "bootstrap.zip"))
	if err != nil {
		t.Fatal(err)
	}
	built := map[string][]byte{}
	for _, file := range zips {
		built[filepath.Base(filepath.Dir(file))] = []byte(read(t, file))
	}
	return built
}

// copySources copies what the functions are made of.
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
			if strings.HasPrefix(entry.Name(), ".git") || slices.Contains([]string{"bin", "build", "infra", "testdata"}, name) {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		if base := entry.Name(); base != "Makefile" && base != "go.mod" && base != "go.sum" && filepath.Ext(base) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o644)
	})
}
