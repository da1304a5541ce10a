package docs_test

import (
	"regexp"
	"strings"
	"testing"
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
		if !strings.Contains(page, "\n"+row+"\n") {
			t.Errorf("docs/design.md has no row %s", row)
		}
	}
	if policies < 8 {
		t.Fatalf("found %d policies", policies)
	}
	_, table, _ := strings.Cut(page, "\n| write | `Ours`")
	table, _, _ = strings.Cut(table, "\n\n")
	if rows := strings.Count(table, "\n| `"); rows != policies {
		t.Errorf("docs/design.md has %d rows, and the code %d policies", rows, policies)
	}
}
