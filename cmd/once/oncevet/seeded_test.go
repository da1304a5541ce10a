package oncevet_test

import (
	"fmt"
	"go/ast"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/lambda-once/once/cmd/once/oncevet"
	"github.com/lambda-once/once/internal/check"
)

// A tally counts for one rule the seeded defects, the near misses, and what was found.
type tally struct{ seeded, found, near, wrong int }

// The seeds use the types of the libraries themselves, and so does this test, in place of
// analysistest, which loads a tree of its own. "// want" ends the line of a defect of the
// rule that the folder is named after, "// near" that of correct code that resembles one.
func TestSeededDefectsAreFoundAndNearMissesAreNot(t *testing.T) {
	rules, defects, folders := map[string]*tally{}, 0, []string{}
	for _, a := range oncevet.Analyzers {
		rules[a.Name] = &tally{}
		folders = append(folders, "./testdata/"+a.Name)
	}
	expected := map[string]string{}
	loaded := load(t, ".", folders...)
	for _, pkg := range loaded {
		for _, file := range pkg.Syntax {
			for at, mark := range marks(pkg, file) {
				expected[at] = mark
				if counts := rules[pkg.Name]; mark == "want" {
					counts.seeded++
					defects++
				} else {
					counts.near++
				}
			}
		}
	}
	for _, d := range findings(t, loaded) {
		rule := filepath.Base(filepath.Dir(d.at))
		counts := rules[rule]
		if d.rule == rule && expected[d.at] == "want" {
			counts.found++
			expected[d.at] = "found"
			continue
		}
		counts.wrong++
		t.Errorf("%s: %s", d.at, d.message)
	}
	for at, mark := range expected {
		check.True(t, mark != "want", "not found", at)
	}
	table := "| rule | seeded defects | found | near misses | reported |\n|---|---|---|---|---|\n"
	for _, a := range oncevet.Analyzers {
		n := rules[a.Name]
		table += fmt.Sprintf("| %s | %d | %d | %d | %d |\n", a.Name, n.seeded, n.found, n.near, n.wrong)
		check.True(t, n.seeded >= 2 && n.near >= 2, "two seeds and near misses of", a.Name)
	}
	check.True(t, defects >= 30, "seeded defects", defects)
	t.Log("\n" + table)
}

// marks returns the lines that a file marks, as "file:line".
func marks(pkg *packages.Package, file *ast.File) map[string]string {
	found := map[string]string{}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if mark := strings.TrimPrefix(comment.Text, "// "); mark == "want" || mark == "near" {
				p := pkg.Fset.Position(comment.Pos())
				found[fmt.Sprintf("%s:%d", p.Filename, p.Line)] = mark
			}
		}
	}
	return found
}

type finding struct{ at, rule, message string }

// load reads what other tests have compiled with the race detector. This one runs without:
// go/types itself writes to aliases (Unalias) while packages.Load reads packages at once.
func load(t *testing.T, dir string, patterns ...string) []*packages.Package {
	t.Helper()
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Dir: dir, Tests: true, BuildFlags: []string{"-race"}}, patterns...)
	check.Must(t, err)
	for _, pkg := range pkgs {
		for _, err := range pkg.Errors {
			t.Fatal(err)
		}
	}
	return pkgs
}

func findings(t *testing.T, pkgs []*packages.Package) (all []finding) {
	t.Helper()
	graph, err := checker.Analyze(oncevet.Analyzers, pkgs, nil)
	check.Must(t, err)
	for _, action := range graph.Roots {
		check.Must(t, action.Err)
		for _, d := range action.Diagnostics {
			p := action.Package.Fset.Position(d.Pos)
			all = append(all, finding{fmt.Sprintf("%s:%d", p.Filename, p.Line), action.Analyzer.Name, d.Message})
		}
	}
	return all
}
