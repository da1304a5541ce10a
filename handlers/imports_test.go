package handlers_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A user of the handlers links no SDK, no store but the one they chose, and
// nothing for tests.
func TestImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dependency := range strings.Fields(string(out)) {
		for _, forbidden := range []string{"aws-sdk-go", "smithy-go", "aws-cdk", "lambda-once/once/dynamo", "testify"} {
			if strings.Contains(dependency, forbidden) || strings.HasPrefix(dependency, "testing") {
				t.Errorf("it links %s", dependency)
			}
		}
	}
}
