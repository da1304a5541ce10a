package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
)

// A coldStart is the cost of protection when a function starts.
type coldStart struct {
	BareMB, ProtectedMB, MoreMB float64 // that are loaded
	InitMS                      float64 // before main, in packages that only the protected function has
	AllocatedKB                 float64 // by constructors
}

var coldStartLines = regexp.MustCompile(`(?ms): (\d+) bytes and (\d+) bytes: ` +
	`.*: ([\d.]+) ms in packages that only the protected function has` +
	`.*coldstart_test\.go:\d+: (\d+) bytes$`)

// measureColdStart returns the figures of the test of examples/internal/coldstart.
func measureColdStart(ctx context.Context, examples string) (*coldStart, error) {
	test := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "./internal/coldstart")
	test.Dir = examples
	out, err := test.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("coldstart: %w\n%s", err, out)
	}
	m := coldStartLines.FindSubmatch(out)
	if m == nil {
		return nil, fmt.Errorf("coldstart: no line of each kind in\n%s", out)
	}
	var bare, protected, init, allocated float64
	if _, err := fmt.Sscan(string(bytes.Join(m[1:], []byte(" "))), &bare, &protected, &init, &allocated); err != nil {
		return nil, fmt.Errorf("coldstart: %w", err)
	}
	return &coldStart{bare / 1e6, protected / 1e6, (protected - bare) / 1e6, init, allocated / 1e3}, nil
}
