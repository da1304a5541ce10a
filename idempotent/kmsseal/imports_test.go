package kmsseal_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A user of KMS links no store.
func TestImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dependency := range strings.Fields(string(out)) {
		for _, forbidden := range []string{"service/dynamodb", "service/s3", "lambda-once/once/dynamo", "testify"} {
			if strings.Contains(dependency, forbidden) {
				t.Errorf("it links %s", dependency)
			}
		}
	}
}
