package mutants

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

const root = "../.."

// Every mutant still fits the code, and names a test that there is. That the
// test fails is for "make mutants" to see.
func TestMutantsFit(t *testing.T) {
	all, err := All()
	check.Must(t, err)
	check.True(t, len(all) >= 20, "there", len(all), "mutants, fewer than 20")
	names := map[string]bool{}
	for _, m := range all {
		if names[m.Name] {
			t.Errorf("two mutants are named %s", m.Name)
		}
		names[m.Name] = true
		if _, _, err := m.Apply(root); err != nil {
			t.Error(err)
		}
		check.Differ(t, m.Old, m.New, m.Name, "changes")
		check.True(t, hasTest(t, filepath.Join(root, m.Package), m.Test), m.Name, "there is no test", m.Test, m.Package)
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	check.Must(t, err)
	declared := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(`)
	for _, file := range tests {
		source, err := os.ReadFile(file)
		check.Must(t, err)
		if declared.Match(source) {
			return true
		}
	}
	return false
}

func TestEveryCellOfThePoliciesHasAMutant(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(root, "idempotent", "internal", "protocol", "policies.go"))
	check.Must(t, err)
	names := map[string]bool{}
	for _, m := range Cells(string(source)) {
		if _, _, err := m.Apply(root); err != nil {
			t.Error(err)
		}
		names[m.Name] = true
	}
	for _, name := range []string{"policy-Finishing-Abandoned", "policy-Stepping-refusedFor", "policy-CommittingAlone-unfenced", "policy-Releasing-outages"} {
		check.True(t, names[name], "there is no", name)
	}
	// Eleven tables of seven cells, and what else is set.
	check.True(t, len(names) >= 11*7+21, "there", len(names))
}

func TestEveryCaseOfThePlanHasAMutant(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(root, "idempotent", "internal", "protocol", "settle.go"))
	check.Must(t, err)
	all := Cases(string(source))
	for _, m := range all {
		if _, _, err := m.Apply(root); err != nil {
			t.Error(err)
		}
	}
	if cases := strings.Count(string(source), "\tcase "); len(all) != cases || cases < 17 {
		t.Errorf("%d mutants of %d cases", len(all), cases)
	}
}
