package powertools_test

import (
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent/powertools"
)

func TestDialectsHaveNames(t *testing.T) {
	for _, name := range []string{"typescript", "python"} {
		d, err := powertools.ParseDialect(name)
		if err != nil || d.String() != name {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
	if d, err := powertools.ParseDialect("Python"); err == nil || !strings.Contains(err.Error(), "use typescript or python") {
		t.Errorf("%v, %v", d, err)
	}
	if s := powertools.Dialect(9).String(); s != "Dialect(9)" {
		t.Error(s)
	}
}
