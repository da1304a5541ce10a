package release

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

const root = "../.."

// write makes a folder with these files.
func write(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		check.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		check.Must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return dir
}

// two are the files of a tree with two modules.
var two = map[string]string{
	"go.work":     "go 1.26.0\n\nuse (\n\t.\n\t./b\n)\n\nreplace (\n\texample.com/a v0.1.0 => .\n\texample.com/a/b v0.1.0 => ./b\n)\n",
	"go.mod":      "module example.com/a\n\ngo 1.26\n",
	"a.go":        "package a\n",
	"LICENSE":     "free\n",
	"b/go.mod":    "module example.com/a/b\n\ngo 1.26\n\nrequire example.com/a v0.1.0\n",
	"b/c/c.go":    "package c\n",
	".gitignore":  "/ignored.go\n",
	"ignored.go":  "package ignored\n",
	"bb/named.go": "package bb\n",
	"README.md":   "go get example.com/a@v0.1.0\nSince v0.1.0 it is small.\n",
}

func read(t *testing.T, dir string) *Tree {
	t.Helper()
	tree, err := Read(dir)
	check.Must(t, err)
	return tree
}

func TestVersionIsSetEverywhere(t *testing.T) {
	dir := write(t, two)
	check.Must(t, read(t, dir).SetVersion("v0.2.0"))
	for _, name := range []string{"go.work", "b/go.mod"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Contains(string(text), "v0.1.0") || !strings.Contains(string(text), "example.com/a v0.2.0") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	check.Slice(t, read(t, dir).Tags(), []string{"v0.2.0", "b/v0.2.0"}, "tags")
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	check.Must(t, err)
	check.Equal(t, string(text), "go get example.com/a@v0.2.0\nSince v0.1.0 it is small.\n", "only where it names the module")
}

func TestVersionIsFrozenWithItsRecordsAndWhatItSends(t *testing.T) {
	dir := write(t, two)
	for _, kind := range []string{"dynamodb", "postgresql", "redis"} {
		for _, file := range []string{kind + ".json", kind + ".sent.json"} {
			err := read(t, dir).Frozen()
			if err == nil || !strings.Contains(err.Error(), "-write v0.1.0") {
				t.Errorf("without %s: %v", file, err)
			}
			name := filepath.Join(dir, "proof/stored/testdata/v0.1.0", file)
			check.Must(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, nil, 0o600)))
		}
	}
	check.Nil(t, read(t, dir).Frozen())
}

func TestWordThatIsNoVersionChangesNothing(t *testing.T) {
	dir := write(t, two)
	for _, version := range []string{"", "0.2.0", "v0.2", "latest"} {
		check.Failed(t, read(t, dir).SetVersion(version), version, "is accepted")
	}
	if text, err := os.ReadFile(filepath.Join(dir, "b", "go.mod")); err != nil || string(text) != two["b/go.mod"] {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestTreeThatCannotBeReleasedIsRefused(t *testing.T) {
	for name, mod := range map[string]string{
		"replace":         "module example.com/a/b\n\ngo 1.26\n\nrequire example.com/a v0.1.0\n\nreplace example.com/a => ..\n",
		"another version": "module example.com/a/b\n\ngo 1.26\n\nrequire example.com/a v0.0.9\n",
	} {
		dir := write(t, two)
		check.Must(t, os.WriteFile(filepath.Join(dir, "b", "go.mod"), []byte(mod), 0o600))
		if _, err := Read(dir); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestModulesOfThisTreeAreFitForARelease(t *testing.T) { read(t, root) }

func TestModuleHasItsOwnFilesAndTheLicense(t *testing.T) {
	dir, proxy := write(t, two), t.TempDir()
	git(t, dir, "init", "-q")
	check.Must(t, read(t, dir).WriteProxy(t.Context(), proxy))
	for path, want := range map[string][]string{
		"example.com/a":   {".gitignore", "LICENSE", "README.md", "a.go", "bb/named.go", "go.mod", "go.work"},
		"example.com/a/b": {"LICENSE", "c/c.go", "go.mod"},
	} {
		packed, err := zip.OpenReader(filepath.Join(proxy, filepath.FromSlash(path), "@v", "v0.1.0.zip"))
		check.Must(t, err)
		defer packed.Close()
		var names []string
		for _, f := range packed.File {
			names = append(names, strings.TrimPrefix(f.Name, path+"@v0.1.0/"))
		}
		slices.Sort(names)
		check.Slice(t, names, want, path)
	}
}
