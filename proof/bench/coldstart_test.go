package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"testing"
)

var coldStartLines = regexp.MustCompile(`(?ms): (\d+) bytes and (\d+) bytes: ` +
	`.*: ([\d.]+) ms in packages that only the protected function has` +
	`.*coldstart_test\.go:\d+: (\d+) bytes$`)

// BenchmarkColdStart reports what a test of examples/internal/coldstart measures: the sizes
// of a protected function and of one without Once, the time before main in packages that
// only the first has, and the allocations of constructors.
func BenchmarkColdStart(b *testing.B) {
	if testing.Short() {
		return // make test runs the test itself
	}
	test := exec.CommandContext(b.Context(), "go", "test", "-count=1", "-v", "./internal/coldstart")
	test.Dir, test.Env = "../../examples", append(os.Environ(), "AWS_LAMBDA_FUNCTION_NAME=")
	out, err := test.CombinedOutput()
	m := coldStartLines.FindSubmatch(out)
	if err != nil || m == nil {
		b.Fatalf("%v: no line of each kind in\n%s", err, out)
	}
	var bare, protected, init, allocated float64
	_, err = fmt.Sscan(string(bytes.Join(m[1:], []byte(" "))), &bare, &protected, &init, &allocated)
	must(b, err)
	b.ReportMetric(0, "ns/op") // not that of an operation
	b.ReportMetric(bare, "bare-B")
	b.ReportMetric(protected, "protected-B")
	b.ReportMetric(init*1e6, "init-ns")
	b.ReportMetric(allocated, "constructors-B")
}
