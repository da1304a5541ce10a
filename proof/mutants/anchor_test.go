package mutants

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

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
