package architecture

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// A library that only tests need would be in the module graph of every user.
func TestModulesOfUsersRequireOnlyModulesThatTheirPackagesLink(t *testing.T) {
	for _, module := range []string{"", "postgres", "redis", "tools"} {
		dir := filepath.Join(root, module)
		linked := in(t, dir, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./...")
		for _, required := range requirements(t, dir) {
			check.True(t, slices.Contains(linked, required), "only tests link", required, "of go.mod in", module)
		}
	}
}

func TestNoModuleRequiresTheProof(t *testing.T) {
	for _, dir := range modules(t) {
		check.False(t, slices.Contains(requirements(t, dir), project+"proof"), dir, "requires proof")
	}
}

// A module of its own could be used with another version of the root. Functions link
// neither tests and their kits, nor commands, the examples and the proof.
func TestWhatUsersLinkOfANestedModuleImportsNoInternalFolderOfTheRoot(t *testing.T) {
	for _, dir := range modules(t) {
		module := strings.TrimPrefix(filepath.ToSlash(dir), filepath.ToSlash(root)+"/")
		if dir == filepath.Clean(root) || slices.Contains([]string{"cmd/once", "examples", "local/sqslocal", "proof"}, module) {
			continue
		}
		for _, imported := range in(t, dir, "list", "-f", `{{if and (ne .Name "main") (ne .Name "redislocal")}}{{join .Imports "\n"}}{{end}}`, "./...") {
			own, ok := strings.CutPrefix(imported, project)
			if ok && !strings.HasPrefix(own, module+"/") && slices.Contains(strings.Split(own, "/"), "internal") {
				t.Errorf("%s imports %s", module, own)
			}
		}
	}
}

// make check reads the list, and there is no other.
func TestMakeChecksEveryModule(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	check.Must(t, err)
	_, list, _ := strings.Cut(string(makefile), "\nMODULES       = ")
	list, _, _ = strings.Cut(list, "\n")
	for _, dir := range modules(t) {
		module, err := filepath.Rel(root, dir)
		if err != nil || !slices.Contains(strings.Fields(list), filepath.ToSlash(module)) {
			t.Errorf("MODULES has no %s (%v)", module, err)
		}
	}
}

// modules returns the folders of all modules.
func modules(t *testing.T) (dirs []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.Name() == "go.mod" {
			dirs = append(dirs, filepath.Dir(path))
		}
		return err
	})
	check.Must(t, err)
	return dirs
}

// requirements returns the modules that the go.mod in dir names.
func requirements(t *testing.T, dir string) (paths []string) {
	t.Helper()
	var file struct{ Require []struct{ Path string } }
	check.Must(t, json.Unmarshal([]byte(strings.Join(in(t, dir, "mod", "edit", "-json"), "\n")), &file))
	for _, r := range file.Require {
		paths = append(paths, r.Path)
	}
	return paths
}

// in returns the words that the go command prints in a folder.
func in(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = dir
	out, err := command.Output()
	check.Must(t, err, dir, "go", strings.Join(args, " "))
	return strings.Fields(string(out))
}
