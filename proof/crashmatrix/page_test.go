package crashmatrix

import (
	"os"
	"regexp"
	"testing"
)

// The table of docs/guarantees.md has a row for every mode, and no other. Only
// a mode that promises nothing may be broken at some points.
func TestGuaranteesPageHasEveryMode(t *testing.T) {
	page, err := os.ReadFile("../../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{} // whether the promise holds at every point
	for _, m := range regexp.MustCompile(`(?m)^\| ([^|]+) \| (\d+) \| (\d+) \| `).FindAllStringSubmatch(string(page), -1) {
		rows[m[1]] = m[2] == m[3]
	}
	for _, m := range modes {
		holds, ok := rows[m.name]
		switch {
		case !ok:
			t.Errorf("docs/guarantees.md has no mode %q", m.name)
		case holds == m.harmful:
			t.Errorf("docs/guarantees.md says that the promise of mode %q holds at every point: %t", m.name, holds)
		}
	}
	if len(rows) != len(modes) {
		t.Errorf("%d modes in docs/guarantees.md, %d in the code", len(rows), len(modes))
	}
}
