package jmespath

import (
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// What computes is refused by its name, wherever it stands, with what to do instead.
func TestOnlySelectionsCompile(t *testing.T) {
	refused := map[string][]string{}
	for _, name := range strings.Fields(`abs avg ceil contains ends_with find_first find_last floor from_items group_by items keys length lower map max max_by merge
		min min_by not_null pad_left pad_right replace reverse sort sort_by split starts_with sum to_array to_number trim trim_left trim_right type upper values zip`) {
		part := "the function " + name
		refused[part] = []string{name + "(a)", "a." + name + "(@)", "[b, join('-', " + name + "(&a, @))]", "a[?" + name + "(@)].b | c", "{a: !" + name + "()}"}
	}
	for _, operator := range []string{"<", "<=", ">", ">="} {
		refused["the operator "+operator] = []string{"a " + operator + " b", "a[?b " + operator + " `1`].c", "[a" + operator + "b]"}
	}
	refused["the operator &"] = []string{"&a", "to_string(&a)", "[a, &b]"}
	refused["the operator $"] = []string{"$", "$.a", "a[?b == $.c]"}
	for d, advice := range map[Dialect]string{Exact: "write a key function in Go", TypeScript: "functions that share the table", Python: "functions that share the table"} {
		for part, expressions := range refused {
			for _, expr := range expressions {
				_, err := Compile(d, expr, true)
				if err == nil || !strings.Contains(err.Error(), part+" is not supported: ") || !strings.HasSuffix(err.Error(), advice) {
					t.Errorf("%v, %s: %v, want %s", d, expr, err, part)
				}
			}
		}
		for name := range functions {
			_, err := Compile(d, name+"()", true)
			check.Contains(t, err.Error(), "does not take 0 arguments", d, name)
		}
	}
}
