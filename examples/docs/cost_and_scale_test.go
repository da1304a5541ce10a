package docs_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/emf"
)

// The statements of docs/cost-and-scale.md.

func TestCostPageOfLinesAndMetrics(t *testing.T) {
	var lines bytes.Buffer
	metrics, err := emf.New(&emf.Options{Writer: &lines})
	if err != nil {
		t.Fatal(err)
	}
	x := executor(t, "create-payment", &idempotent.Config{Observer: metrics})
	for range 2 {
		if _, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(context.Context) (int, error) { return 1, nil }); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(lines.String()) {
		if n := len(line); n < 700 || n > 780 {
			t.Errorf("a line has %d bytes, and not some 740: %s", n, line)
		}
	}
	perOutcome, perOperation := 0, 0
	for _, m := range emf.Metrics() {
		switch fmt.Sprint(m.Dimensions) {
		case "[operation]":
			perOperation++
		case "[operation outcome]":
			perOutcome++
		}
	}
	if n := perOperation + 3*perOutcome; n != 10 {
		t.Errorf("an operation with three outcomes has %d metrics, and not 10", n)
	}
}

// A figure in prose is the one that the page of the measurements has.
func TestFiguresOfPagesAreThoseOfPerformance(t *testing.T) {
	targets := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (.+?) \| at (?:least|most) [^|]+ \| ([\d.]+)`).FindAllStringSubmatch(read(t, "docs/performance.md"), -1) {
		targets[m[1]] = m[2]
	}
	for _, c := range []struct{ page, target, says string }{
		{"docs/cost-and-scale.md", "first calls, 16 callers, +10 ms: calls a second, Group 1, over those without", "made %s times the calls"},
		{"docs/cost-and-scale.md", "a cold start: ms of initialization that protection adds", "[%s ms](performance.md#targets)"},
		{"docs/postgres.md", "first calls on PostgreSQL, 16 callers: client CPU, over those by hand", "takes %s times the client CPU"},
		{"docs/redis.md", "first calls on Redis, 16 callers: µs of the server for a script", "takes the server %s µs"},
	} {
		if want := fmt.Sprintf(c.says, targets[c.target]); !strings.Contains(read(t, c.page), want) {
			t.Errorf("%s does not say %q", c.page, want)
		}
	}
}
