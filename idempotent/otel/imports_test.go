package otel_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A user of the Observer chooses the SDK, or none, and links no store.
func TestImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dependency := range strings.Fields(string(out)) {
		for _, forbidden := range []string{"go.opentelemetry.io/otel/sdk", "aws-sdk-go", "lambda-once/once/dynamo", "testify"} {
			if strings.Contains(dependency, forbidden) {
				t.Errorf("it links %s", dependency)
			}
		}
	}
}
