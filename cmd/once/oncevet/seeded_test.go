package oncevet_test

import (
	"fmt"
	"go/token"
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
// analysistest, which loads a tree of its own. "// want" and a rule end the line of a
// defect, "// near" and a rule that of correct code that resembles one.
func TestSeededDefectsAreFoundAndNearMissesAreNot(t *testing.T) {
	rules, defects := map[string]*tally{}, 0
	for _, a := range oncevet.Analyzers {
		rules[a.Name] = &tally{}
	}
	loaded := load(t, ".", "./testdata/effect", "./testdata/invocation", "./testdata/keys", "./testdata/steps", "./testdata/stored")
	wanted := map[string]string{} // rules by their places
	for _, pkg := range loaded {
		for at, mark := range marks(pkg) {
			rule, want := strings.CutPrefix(mark, "want ")
			if want {
				wanted[at] = rule
				rules[rule].seeded++
				defects++
			} else {
				rules[strings.TrimPrefix(mark, "near ")].near++
			}
		}
	}
	for _, d := range findings(t, loaded) {
		if wanted[d.at] != d.rule {
			rules[d.rule].wrong++
			t.Errorf("%s: %s", d.at, d.message)
			continue
		}
		rules[d.rule].found++
		delete(wanted, d.at)
	}
	check.Equal(t, len(wanted), 0, "not found", wanted)
	table := "| rule | seeded defects | found | near misses | reported |\n|---|---|---|---|---|\n"
	for _, a := range oncevet.Analyzers {
		n := rules[a.Name]
		table += fmt.Sprintf("| %s | %d | %d | %d | %d |\n", a.Name, n.seeded, n.found, n.near, n.wrong)
		check.True(t, n.seeded >= 2 && n.near >= 2, "two seeds and near misses of", a.Name)
	}
	check.True(t, defects >= 30, "seeded defects", defects)
	t.Log("\n" + table)
}

// marks returns the lines that a package marks, as "file:line".
func marks(pkg *packages.Package) map[string]string {
	found := map[string]string{}
	for _, file := range pkg.Syntax {
		for _, group := range file.Comments {
			for _, comment := range group.List {
				if mark := strings.TrimPrefix(comment.Text, "// "); strings.HasPrefix(mark, "want ") || strings.HasPrefix(mark, "near ") {
					found[place(pkg.Fset, comment.Pos())] = mark
				}
			}
		}
	}
	return found
}

func place(files *token.FileSet, at token.Pos) string {
	p := files.Position(at)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

type finding struct{ at, rule, message string }

// load reads packages, in make test those that other tests have compiled with the race
// detector. This one runs without: go/types itself writes to aliases (Unalias) while
// packages.Load reads packages at once.
func load(t *testing.T, dir string, patterns ...string) []*packages.Package {
	t.Helper()
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Dir: dir, Tests: true}, patterns...)
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
			all = append(all, finding{place(action.Package.Fset, d.Pos), action.Analyzer.Name, d.Message})
		}
	}
	return all
}
