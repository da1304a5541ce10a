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
	rows := map[string]bool{} // whether every point is kept
	for _, m := range regexp.MustCompile(`(?m)^\| ([^|]+) \| (\d+) \| (\d+) \| `).FindAllStringSubmatch(string(page), -1) {
		rows[m[1]] = m[2] == m[3]
	}
	for _, m := range modes {
		kept, ok := rows[m.name]
		switch {
		case !ok:
			t.Errorf("docs/guarantees.md has no mode %q", m.name)
		case kept == m.harmful:
			t.Errorf("docs/guarantees.md says that mode %q keeps its promise at every point: %t", m.name, kept)
		}
	}
	if len(rows) != len(modes) {
		t.Errorf("%d modes in docs/guarantees.md, %d in the code", len(rows), len(modes))
	}
}
