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
	"github.com/lambda-once/once/internal/check"
)

// The statements of docs/cost-and-scale.md.

func TestCostPageOfLinesAndMetrics(t *testing.T) {
	var lines bytes.Buffer
	metrics, err := emf.New(&emf.Options{Writer: &lines})
	check.Must(t, err)
	x := executor(t, "create-payment", &idempotent.Config{Observer: metrics})
	for range 2 {
		_, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(context.Context) (int, error) { return 1, nil })
		check.Must(t, err)
	}
	for line := range strings.Lines(lines.String()) {
		n := len(line)
		check.True(t, 700 <= n && n <= 780, n, "bytes, and some 740 are expected", line)
	}
	perOutcome, perOperation := 0, 0
	for _, m := range emf.Metrics() {
		if m.Name == "OldestAbandoned" {
			continue // of an operation with a resumer
		}
		switch fmt.Sprint(m.Dimensions) {
		case "[operation]":
			perOperation++
		case "[operation outcome]":
			perOutcome++
		}
	}
	check.Equal(t, perOperation+3*perOutcome, 10, "the metrics of an operation with three outcomes")
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
		said := fmt.Sprintf(c.says, targets[c.target])
		check.True(t, strings.Contains(read(t, c.page), said), c.page, "says", said)
	}
}
