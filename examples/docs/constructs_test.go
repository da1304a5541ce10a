package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

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
