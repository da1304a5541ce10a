package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// The table of writes and standings is the protocol.
func TestDesignHasTheRulingsOfEveryWrite(t *testing.T) {
	page, code := read(t, "docs/design.md"), read(t, "idempotent/internal/protocol/policies.go")
	name, rulings, ruling := regexp.MustCompile(`^\t(\w+) = Policy\{$`), regexp.MustCompile(`^\t\ton: \[standings\]Ruling\{(.*)\},$`), regexp.MustCompile(`\w+: (\w+)`)
	policy, policies := "", 0
	for _, line := range strings.Split(code, "\n") {
		if m := name.FindStringSubmatch(line); m != nil {
			policy = m[1]
		}
		m := rulings.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		policies++
		row := "| `" + policy + "` |"
		for _, r := range ruling.FindAllStringSubmatch(m[1], -1) {
			row += " " + r[1] + " |"
		}
		check.True(t, strings.Contains(page, "\n"+row+"\n"), "docs/design.md has the row", row)
	}
	check.True(t, policies >= 8, policies, "policies")
	_, table, _ := strings.Cut(page, "\n| write | `Ours`")
	table, _, _ = strings.Cut(table, "\n\n")
	check.Equal(t, strings.Count(table, "\n| `"), policies, "the rows of docs/design.md, and the policies of the code")
}
