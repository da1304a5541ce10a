// Package release packs the modules of the tree as their release would be, and uses
// them as their users do.
package release

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// A Tree is the modules of a workspace, which require each other at one version.
type Tree struct {
	root    string
	version string
	modules []tracked
}

// tracked is a module of the tree.
type tracked struct {
	path string
	dir  string // from the root, with slashes; "." is the root
	file *modfile.File
}

// Read reads go.work in the folder root, and the go.mod of each of its modules. It returns an
// error if a module replaces a different one, or requires one of the tree at a version that
// go.work does not replace.
func Read(root string) (*Tree, error) {
	name := filepath.Join(root, "go.work")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork(name, text, nil)
	if err != nil {
		return nil, err
	}
	t := &Tree{root: root}
	for _, r := range work.Replace {
		t.version = r.Old.Version
	}
	for _, use := range work.Use {
		name := filepath.Join(root, use.Path, "go.mod")
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := modfile.Parse(name, text, nil)
		if err != nil {
			return nil, err
		}
		if len(file.Replace) > 0 {
			return nil, fmt.Errorf("%s: it has a replace directive, which its users would not have; go.work has those of the tree", name)
		}
		t.modules = append(t.modules, tracked{file.Module.Mod.Path, filepath.ToSlash(filepath.Clean(use.Path)), file})
	}
	for _, m := range t.modules {
		for _, r := range m.file.Require {
			if t.has(r.Mod.Path) && r.Mod.Version != t.version {
				return nil, fmt.Errorf("%s requires %s, and go.work replaces %s: set both with \"make version\"", m.path, r.Mod, t.version)
			}
		}
	}
	return t, nil
}

func (t *Tree) has(path string) bool {
	return slices.ContainsFunc(t.modules, func(m tracked) bool { return m.path == path })
}

// SetVersion sets the version at which the modules require each other, in each go.mod
// and in go.work, and in the texts that name one of them with its version.
func (t *Tree) SetVersion(version string) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return fmt.Errorf("%q is not a version such as v0.1.0", version)
	}
	for _, m := range t.modules {
		if err := t.rewrite(m.dir+"/go.mod", version); err != nil {
			return err
		}
	}
	for _, pattern := range texts {
		if err := t.rewrite(pattern, version); err != nil {
			return err
		}
	}
	return nil
}

// texts are go.work, and the files that tell users a version or link the pages of one.
var texts = []string{
	"go.work", "README.md", "docs/*.md", "template.yaml", "cmd/once/alarms.json", "infra/terraform/alarms/alarms.json", "infra/terraform/*/*.tf", "infra/terraform/*/README.md",
}

// rewrite sets the version in the lines of files that name the repository.
func (t *Tree) rewrite(pattern, version string) error {
	files, err := filepath.Glob(filepath.Join(t.root, filepath.FromSlash(pattern)))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var b strings.Builder
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, t.modules[0].path) { // the root, with which the paths of all begin
				line = strings.ReplaceAll(line, t.version, version)
			}
			b.WriteString(line)
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Frozen returns an error if this version has not stored its records, and what it sends to
// each server, as test data of later versions.
func (t *Tree) Frozen() error {
	for _, kind := range []string{"dynamodb", "postgresql", "redis"} {
		for _, file := range []string{kind + ".json", kind + ".sent.json"} {
			if _, err := os.Stat(filepath.Join(t.root, "proof/stored/testdata", t.version, file)); err != nil {
				return fmt.Errorf("version %s is not frozen: run go -C proof test ./stored -args -write %[1]s: %w", t.version, err)
			}
		}
	}
	return nil
}

// Tags returns the tags under which the go command finds the modules in the repository.
// The examples and the proof are not released.
func (t *Tree) Tags() (tags []string) {
	for _, m := range t.modules {
		switch m.dir {
		case "examples", "proof":
		case ".":
			tags = append(tags, t.version)
		default:
			tags = append(tags, m.dir+"/"+t.version)
		}
	}
	return tags
}
