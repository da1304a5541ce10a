package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"

	"github.com/lambda-once/once/proof/bench/internal/report"
)

var coldStartLines = []*regexp.Regexp{
	regexp.MustCompile(`(?m): (\d+) bytes and (\d+) bytes: `),
	regexp.MustCompile(`(?m): ([\d.]+) ms in packages that only the protected function has`),
	regexp.MustCompile(`(?m)coldstart_test\.go:\d+: (\d+) bytes$`),
}

// coldStart returns what the test of examples/internal/coldstart measures.
func coldStart(ctx context.Context, examples string) (*report.ColdStart, error) {
	test := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "./internal/coldstart")
	test.Dir = examples
	out, err := test.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("coldstart: %w\n%s", err, out)
	}
	var found []float64
	for _, line := range coldStartLines {
		m := line.FindSubmatch(out)
		if m == nil {
			return nil, fmt.Errorf("coldstart: no line %s in\n%s", line, out)
		}
		for _, text := range m[1:] {
			n, err := strconv.ParseFloat(string(text), 64)
			if err != nil {
				return nil, fmt.Errorf("coldstart: %w", err)
			}
			found = append(found, n)
		}
	}
	return &report.ColdStart{
		Bare: report.Bytes(found[0]), Protected: report.Bytes(found[1]), InitMS: found[2], Allocated: report.Bytes(found[3]),
	}, nil
}
