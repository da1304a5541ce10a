package idempotent_test

import (
	"os/exec"
	"strings"
	"testing"
)

// The core links neither AWS nor anything for tests.
func TestImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dependency := range strings.Fields(string(out)) {
		if strings.Contains(dependency, "aws") || strings.HasPrefix(dependency, "testing") || strings.Contains(dependency, "testify") {
			t.Errorf("it links %s", dependency)
		}
	}
}
