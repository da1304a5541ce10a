package mutants

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

const root = "../.."

// Every mutant still fits the code, and names a test that there is. That the
// test fails is for "make mutants" to see.
func TestMutantsFit(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Errorf("there are %d mutants, fewer than 20", len(all))
	}
	names := map[string]bool{}
	for _, m := range all {
		if names[m.Name] {
			t.Errorf("two mutants are named %s", m.Name)
		}
		names[m.Name] = true
		if _, _, err := m.Apply(root); err != nil {
			t.Error(err)
		}
		if m.Old == m.New {
			t.Errorf("%s changes nothing", m.Name)
		}
		if !hasTest(t, filepath.Join(root, m.Package), m.Test) {
			t.Errorf("%s: there is no test %s in %s", m.Name, m.Test, m.Package)
		}
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(`)
	for _, file := range tests {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if declared.Match(source) {
			return true
		}
	}
	return false
}
