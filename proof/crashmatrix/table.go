package crashmatrix

import (
	"fmt"
	"strings"
	"time"

	"github.com/lambda-once/once/local/kill"
)

// String returns a line for every run.
func (m *matrix) String() string {
	rows := [][]any{{"call", "killed", "retries", "effects", "promise"}}
	for i, r := range m.results {
		call, at, verdict := "all", "never", "kept"
		if r.at != 0 {
			call, at = fmt.Sprintf("%2d %s %s", r.call.Number, r.call.Server, r.call.Operation), r.at.String()
		}
		if r.wrong != "" {
			verdict = "BROKEN: " + r.wrong
		}
		if m.errs[i] != nil {
			verdict = "ERROR: " + strings.ReplaceAll(m.errs[i].Error(), "\n", "; ")
		}
		rows = append(rows, []any{call, at, r.retries, r.seen, verdict})
	}
	return fmt.Sprintf("\n%s (examples/%s): %s\n\n%s", m.name, m.example, m.promise, kill.Table(rows))
}

// summary returns a line for every mode.
func summary(all []*matrix, took time.Duration) string {
	rows := [][]any{{"mode", "points", "kept", ""}}
	killed := 0
	for _, m := range all {
		points, passed := m.points()
		killed += points
		verdict := "as promised"
		switch err := m.verdict(); {
		case err != nil:
			verdict = "NOT as promised"
		case m.harmful:
			verdict = "as expected: nothing is promised"
		}
		rows = append(rows, []any{m.name, points, passed, verdict})
	}
	return fmt.Sprintf("\n%s\n%d points in %v.\n", kill.Table(rows), killed, took.Round(time.Second))
}
