package s3payload_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A user of S3 links no other client, and no server.
func TestImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dependency := range strings.Fields(string(out)) {
		for _, forbidden := range []string{"service/dynamodb", "service/kms", "gofakes3", "lambda-once/once/dynamo", "testify"} {
			if strings.Contains(dependency, forbidden) {
				t.Errorf("it links %s", dependency)
			}
		}
	}
}
