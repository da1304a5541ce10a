package crashmatrix

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/kill"
	"github.com/lambda-once/once/local/dynamodblocal"
)

// Of the modes with fewer points; with -short, of one; in make crash-matrix, of all modes
// with all points.
func TestShortMatrix(t *testing.T) {
	t.Parallel()
	var out io.Writer = t.Output()
	played := short(modes)
	switch {
	case os.Getenv("ONCE_MATRIX") == "whole":
		out, played = os.Stdout, modes
	case testing.Short():
		one := only(t, "transactional")
		one.short = true
		played = []mode{one}
	}
	check.Nil(t, run(t.Context(), out, played))
}

func only(t *testing.T, name string) mode {
	t.Helper()
	i := slices.IndexFunc(modes, func(m mode) bool { return m.name == name })
	if i < 0 {
		t.Fatalf("there is no mode %s", name)
	}
	return modes[i]
}

// A matrix that cannot fail would show nothing. Every call of the undisturbed run is
// met before and after.
func TestABrokenPromiseIsAnError(t *testing.T) {
	t.Parallel()
	liar := only(t, "plain")
	liar.harmful = false
	s, err := newStage(t.Context(), []mode{liar})
	check.Must(t, err)
	defer func() { check.Nil(t, s.close()) }()
	m := &matrix{mode: liar, done: make(chan struct{})}
	m.fill(t.Context(), s)
	if err := m.verdict(); err == nil || !strings.Contains(err.Error(), "plain: the promise was broken at") {
		t.Errorf("got %v", err)
	}
	text := strings.Join(strings.Fields(m.String()+summary([]*matrix{m}, 0)), " ")
	for _, want := range []string{
		"4 dynamodb UpdateItem before ", "debits 2, credits 1 BROKEN: money is lost", "plain 14 10 NOT as promised",
	} {
		check.Contains(t, text, want, m)
	}
	calls := m.results[0].Calls
	var operations []string
	for _, c := range calls {
		operations = append(operations, c.Server+" "+c.Operation)
	}
	want := []string{"lambda next", "dynamodb PutItem", "dynamodb UpdateItem", "dynamodb UpdateItem", "dynamodb UpdateItem", "lambda response", "lambda next"}
	check.Slice(t, operations, want, "calls")
	if len(m.results) != 1+2*len(want) {
		t.Fatalf("%d runs for %d calls", len(m.results), len(want))
	}
	for i, r := range m.results[1:] {
		if call := calls[i/2]; r.Err != nil || r.Call != call || (r.At.String() == "after") != (i%2 == 1) || r.Seen == "" {
			t.Errorf("run %d: %+v, want call %+v", i, r, call)
		}
	}
}

func TestAHarmlessMatrixShowsNothing(t *testing.T) {
	m := &matrix{mode: mode{name: "safe", harmful: true}, results: []kill.Run{{}, {Point: after(1, "dynamodb", "PutItem")}}}
	if err := m.verdict(); err == nil || !strings.Contains(err.Error(), "this matrix shows nothing") {
		t.Errorf("got %v", err)
	}
}

func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }

// The table of docs/guarantees.md has a row for every mode, and no other. Only
// a mode that promises nothing may be broken at some points.
func TestGuaranteesPageHasEveryMode(t *testing.T) {
	page, err := os.ReadFile("../../docs/guarantees.md")
	check.Must(t, err)
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
	check.Equal(t, len(rows), len(modes), "modes in docs/guarantees.md and in the code")
}
