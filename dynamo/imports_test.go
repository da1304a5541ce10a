package dynamo_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A user of the store links no event types, no CDK, nothing for tests, and not
// the SDK's config loader, which package dynamoenv is for.
func TestImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dependency := range strings.Fields(string(out)) {
		if strings.Contains(dependency, "aws-lambda-go") || strings.Contains(dependency, "aws-cdk") ||
			strings.Contains(dependency, "aws-sdk-go-v2/config") || strings.HasPrefix(dependency, "testing") || strings.Contains(dependency, "testify") {
			t.Errorf("it links %s", dependency)
		}
	}
}
