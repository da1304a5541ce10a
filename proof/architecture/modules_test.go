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
)

// A library that only tests need would be in the module graph of every user.
func TestTheRootRequiresOnlyModulesThatItsPackagesLink(t *testing.T) {
	linked := in(t, root, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./...")
	for _, required := range requirements(t, root) {
		if !slices.Contains(linked, required) {
			t.Errorf("go.mod requires %s, which no package outside of tests links", required)
		}
	}
}

func TestNoModuleRequiresTheProof(t *testing.T) {
	for _, dir := range modules(t) {
		if slices.Contains(requirements(t, dir), project+"proof") {
			t.Errorf("%s requires proof", dir)
		}
	}
}

// A module of its own could be released with another version of the root. Tests, commands,
// the examples and the proof are not linked by users.
func TestWhatUsersLinkOfANestedModuleImportsNoInternalFolderOfTheRoot(t *testing.T) {
	for _, dir := range modules(t) {
		module := strings.TrimPrefix(filepath.ToSlash(dir), filepath.ToSlash(root)+"/")
		if dir == filepath.Clean(root) || module == "examples" || module == "proof" {
			continue
		}
		for _, imported := range in(t, dir, "list", "-f", `{{if ne .Name "main"}}{{join .Imports "\n"}}{{end}}`, "./...") {
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// requirements returns the modules that the go.mod in dir names.
func requirements(t *testing.T, dir string) (paths []string) {
	t.Helper()
	var file struct{ Require []struct{ Path string } }
	if err := json.Unmarshal([]byte(strings.Join(in(t, dir, "mod", "edit", "-json"), "\n")), &file); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatalf("%s: go %s: %v", dir, strings.Join(args, " "), err)
	}
	return strings.Fields(string(out))
}
