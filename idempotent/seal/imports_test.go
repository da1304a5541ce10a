package seal_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Cryptography is the standard library's, and no KMS is linked.
func TestImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dependency := range strings.Fields(string(out)) {
		if strings.Contains(dependency, "aws") || strings.HasPrefix(dependency, "testing") || strings.HasPrefix(dependency, "golang.org/x/crypto") {
			t.Errorf("it links %s", dependency)
		}
	}
}
