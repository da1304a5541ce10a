package crashmatrix

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
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
	return fmt.Sprintf("\n%s (examples/%s): %s\n\n%s", m.name, m.example, m.promise, table(rows))
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
	return fmt.Sprintf("\n%s\n%d points in %v.\n", table(rows), killed, took.Round(time.Second))
}

func table(rows [][]any) string {
	var text strings.Builder // to which writing does not fail
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintf(w, "  %v"+strings.Repeat("\t%v", len(row)-1)+"\n", row...)
	}
	w.Flush()
	return text.String()
}
