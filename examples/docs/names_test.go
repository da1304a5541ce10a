package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
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
	check.True(t, n >= 20, n, "names: does the test find them?")
}

// exports returns the exported names of each package, by the package's name.
func exports(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	for _, p := range packages(t) {
		names := all[p.Name]
		if names == nil {
			names = map[string]bool{}
			all[p.Name] = names
		}
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, p.Dir, name), nil, parser.SkipObjectResolution)
			check.Must(t, err)
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
		}
	}
	return all
}

// A construct, a grant or a source that is only named in a table leaves its use to be guessed.
func TestEveryFunctionOfInfraIsShown(t *testing.T) {
	var shown strings.Builder
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.language == "go" {
				shown.WriteString(strings.Join(b.lines, "\n") + "\n")
			}
		}
	}
	exported := regexp.MustCompile(`(?m)^func (?:\(\w+ \*?(\w+)\) )?(\w+)\(`).FindAllStringSubmatch(read(t, "api/infra.txt"), -1)
	check.True(t, len(exported) >= 30, len(exported), "functions in api/infra.txt: does the test find them?")
	for _, f := range exported {
		on, name := f[1], f[2]
		if !slices.Contains([]string{"", "PropsError"}, on) && !strings.Contains(shown.String(), "."+name+"(") ||
			on == "" && !strings.Contains(shown.String(), "infra."+name+"(") {
			t.Errorf("no page has Go code that calls %s %s", on, name)
		}
	}
}
