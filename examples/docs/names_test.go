package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every exported name of a package of ours that a page writes as code exists,
// and so does every import path.
func TestEveryNameExists(t *testing.T) {
	exported := exports(t)
	qualified, imported, n := regexp.MustCompile(`\b([a-z][a-z0-9]*)\.([A-Z]\w*)`), regexp.MustCompile(`github\.com/lambda-once/once/([\w/.-]*\w)`), 0
	for _, p := range pages(t) {
		for i, line := range p.prose {
			for _, span := range code.FindAllString(line, -1) {
				for _, m := range qualified.FindAllStringSubmatch(span, -1) {
					names, ours := exported[m[1]]
					if ours && !names[m[2]] {
						t.Errorf("%s:%d: there is no %s", p.path, i+1, m[0])
					}
					if ours {
						n++
					}
				}
			}
		}
		for _, m := range imported.FindAllStringSubmatch(p.text, -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s: there is no %s", p.path, m[0])
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d names: does the test find them?", n)
	}
}

// exports returns the exported names of each package, by the package's name.
func exports(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != root && (name == "testdata" || name == "build" || strings.HasPrefix(name, ".")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		names := all[file.Name.Name]
		if names == nil {
			names = map[string]bool{}
			all[file.Name.Name] = names
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					names[d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						names[s.Name.Name] = true
					case *ast.ValueSpec:
						for _, name := range s.Names {
							names[name.Name] = true
						}
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
