package docs_test

import (
	"bytes"
	"context"
	"fmt"
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
