package mutants

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// Every mutant still compiles: one that does not is killed by no test. Only the
// file that it changes is checked in full. Of its package's other files the
// declarations are enough, and of its imports what the compiler exports.
func TestMutantsCompile(t *testing.T) {
	all := everyMutant(t)
	inModule := map[string][]string{}
	for _, m := range all {
		if dir, _, isGo := strings.Cut(m.In, " "); isGo {
			if module := moduleOf(t, dir); !slices.Contains(inModule[module], dir) {
				inModule[module] = append(inModule[module], dir)
			}
		}
	}
	packages := map[string]*compiled{}
	for module, dirs := range inModule {
		compile(t, module, dirs, packages)
	}
	for _, m := range all {
		dir, _, isGo := strings.Cut(m.In, " ")
		if !isGo {
			continue
		}
		file, changed, err := m.Apply(root)
		if err != nil {
			continue // TestMutantsFit reports it
		}
		check.Nil(t, packages[dir].check(filepath.Base(file), changed), m.Name, "does not compile")
	}
}

func everyMutant(t *testing.T) []Mutant {
	t.Helper()
	all, err := Every(root)
	check.Must(t, err)
	return all
}

// moduleOf returns the folder of the module that dir belongs to.
func moduleOf(t *testing.T, dir string) string {
	t.Helper()
	for ; dir != "."; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err == nil {
			break
		}
	}
	return dir
}

// A compiled package has the declarations of its files and reads its imports
// from what the compiler exported.
type compiled struct {
	path     string
	files    *token.FileSet
	declared map[string]*ast.File
	imports  types.Importer
}

// compile adds the packages in the folders dirs of module.
func compile(t *testing.T, module string, dirs []string, to map[string]*compiled) {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export"}
	for _, dir := range dirs {
		relative, err := filepath.Rel(module, dir)
		check.Must(t, err)
		args = append(args, "./"+relative)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = filepath.Join(root, module), os.Stderr
	out, err := cmd.Output()
	check.Must(t, err, "go list", module)
	files := token.NewFileSet()
	exported := map[string]string{}
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exported[path])
	})
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir, Export string
			GoFiles                 []string
		}
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		exported[p.ImportPath] = p.Export
		for _, dir := range dirs {
			if here, err := filepath.Abs(filepath.Join(root, dir)); err != nil || here != p.Dir {
				continue
			}
			to[dir] = &compiled{p.ImportPath, files, map[string]*ast.File{}, imports}
			for _, name := range p.GoFiles {
				file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
				check.Must(t, err)
				to[dir].declared[name] = withoutBodies(file)
			}
		}
	}
}

// withoutBodies removes the bodies of functions where Go allows it.
func withoutBodies(file *ast.File) *ast.File {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Type.TypeParams == nil && f.Name.Name != "init" && f.Name.Name != "main" {
			f.Body = nil
		}
	}
	return file
}

// check returns the first error of the package in its changed file.
func (c *compiled) check(name string, changed []byte) error {
	file, err := parser.ParseFile(c.files, name, changed, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	files := []*ast.File{file}
	for other, f := range c.declared {
		if other != name {
			files = append(files, f)
		}
	}
	var first error
	config := types.Config{Importer: c.imports, Error: func(err error) {
		var e types.Error
		if errors.As(err, &e) && first == nil && c.files.File(e.Pos).Name() == name {
			first = fmt.Errorf("%s: %s", c.files.Position(e.Pos), e.Msg)
		}
	}}
	_, _ = config.Check(c.path, c.files, files, nil) // reported to config.Error
	return first
}
