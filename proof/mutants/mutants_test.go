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
	all, names := everyMutant(t), map[string]bool{}
	check.True(t, len(all) >= 300, "only", len(all), "mutants")
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
	all := len(Cases(string(source)))
	if cases := strings.Count(string(source), "\tcase "); all != cases || cases < 17 {
		t.Errorf("%d mutants of %d cases", all, cases)
	}
}

// A mutant applies wherever in its package the declaration stands, and however
// the code is indented and commented.
func TestMutantFollowsItsDeclaration(t *testing.T) {
	const moved = `package p

func f() int { return next() }

// next was in another file, as long as x != nil.
func (c *call[T]) next(x *int) int {
	if x != nil && // now checked
		ready(x) {
		return 1
	}
	return next()
}

func (c *call[T]) last() int { return c.next() }
`
	for _, test := range []struct {
		what, in, old, new string
		want               string
	}{
		{"an expression over several lines", "p (*call).next", "x != nil && ready(x)", "false", "\tif false {\n"},
		{"statements", "p (*call).next", "return 1\n}\nreturn next()", "}\nreturn 2", "\t\t}\nreturn 2\n"},
		{"a text that another declaration has, too", "p f", "next()", "2", "{ return 2 }"},
		{"a text that is not there", "p (*call).next", "x == nil", "false", ""},
		{"an operand without what it is selected from", "p (*call).last", "next()", "1", ""},
		{"a part of a token", "p (*call).next", "eady(x)", "false", ""},
		{"a text that stands twice", "p (*call).next", "return", "panic", ""},
		{"no such declaration", "p call.next", "x != nil", "false", ""},
	} {
		t.Run(test.what, func(t *testing.T) {
			root := t.TempDir()
			check.Must(t, os.Mkdir(filepath.Join(root, "p"), 0o755))
			for name, text := range map[string]string{"a.go": "package p\n\nvar x = 1\n", "b.go": moved} {
				check.Must(t, os.WriteFile(filepath.Join(root, "p", name), []byte(text), 0o644))
			}
			file, changed, err := Mutant{In: test.in, Old: test.old, New: test.new}.Apply(root)
			if (err == nil) != (test.want != "") {
				t.Fatalf("Apply returned the error %v", err)
			}
			if err != nil {
				return
			}
			check.Equal(t, file, filepath.Join("p", "b.go"))
			check.Contains(t, string(changed), test.want)
		})
	}
}
