package dynamo_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A user of the store links no event types, no CDK and nothing for tests.
func TestImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dependency := range strings.Fields(string(out)) {
		if strings.Contains(dependency, "aws-lambda-go") || strings.Contains(dependency, "aws-cdk") || strings.HasPrefix(dependency, "testing") || strings.Contains(dependency, "testify") {
			t.Errorf("it links %s", dependency)
		}
	}
}
