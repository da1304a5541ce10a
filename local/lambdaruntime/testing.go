package lambdaruntime

import (
	"context"
	"os"
	"path/filepath"

	"github.com/lambda-once/once/internal/serving"
)

// TB is the part of testing.TB that this package uses.
type TB = serving.TB

// StartTest is like [Start], but closes the runtime when the test ends. If f has no
// Log, the log of the test is used.
func StartTest(t TB, f Function) *Runtime {
	t.Helper()
	if f.Log == nil {
		f.Log = serving.Log(t)
	}
	r, err := Start(context.Background(), f)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Fatalf("%v", err)
		}
	})
	return r
}

// BuildTest is like [Build], but removes the binary when the test ends.
func BuildTest(t TB, dir, pkg string) (binary string) {
	t.Helper()
	binary, err := Build(context.Background(), dir, pkg)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(filepath.Dir(binary)); err != nil {
			t.Fatalf("lambdaruntime: %v", err)
		}
	})
	return binary
}
