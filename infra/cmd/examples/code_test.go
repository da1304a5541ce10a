package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What the deployment says of a function is what its code does: a condition
// with another operation's name refuses every call, a table's name that is
// missing stops the process, and a stated retention must be the one in the code.
func TestDeploymentAgreesWithTheCode(t *testing.T) {
	for _, f := range cdk(t).Functions() {
		example := strings.ToLower(strings.TrimSuffix(f.ID, "Function"))
		t.Run(example, func(t *testing.T) {
			code := source(t, "../../../examples/"+example)

			var operations, allowed []string
			for _, m := range regexp.MustCompile(`idempotent\.New\("([^"]+)"`).FindAllStringSubmatch(code, -1) {
				operations = append(operations, m[1]+"#*")
			}
			variables := fmt.Sprint(f.Properties["Environment"])
			// Shared records begin with the prefix of the other functions.
			if prefix := regexp.MustCompile(`POWERTOOLS_PREFIX:(\S+)`).FindStringSubmatch(variables); prefix != nil {
				operations = append(operations, prefix[1]+"#*")
			}
			for _, s := range f.Statements {
				condition, _ := s.Condition.(map[string]any)
				like, _ := condition["ForAllValues:StringLike"].(map[string]any)
				prefixes, _ := like["dynamodb:LeadingKeys"].([]any)
				for _, prefix := range prefixes {
					allowed = append(allowed, fmt.Sprint(prefix))
				}
			}
			relay := f.Table() == ""
			if relay != (len(operations) == 0) || !slices.Equal(allowed, operations) {
				t.Errorf("the code has the operations %v, the grant %v", operations, allowed)
			}

			groups := regexp.MustCompile(`dynamo\.Options\{[^}]*\bGroup:`).MatchString(code)
			if f.Groups() != groups {
				t.Errorf("the code groups writes: %t; the grant allows it: %t", groups, f.Groups())
			}

			for _, m := range regexp.MustCompile(`os\.Getenv\("([A-Z_]+_(?:TABLE|QUEUE|URL))"\)`).FindAllStringSubmatch(code, -1) {
				// A function that finds it keeps its records in PostgreSQL, and not in
				// the table that is deployed here.
				if m[1] != "DATABASE_URL" && !strings.Contains(variables, m[1]+":") {
					t.Errorf("%s is not set", m[1])
				}
			}
		})
	}
}

func TestOrdersRetentionIsStated(t *testing.T) {
	retention := regexp.MustCompile(`Retention:\s+(28 \* 24 \* time\.Hour)`)
	for _, file := range []string{"main.go", "../../../examples/orders/main.go"} {
		if !retention.MatchString(read(t, file)) {
			t.Errorf("%s does not keep records for as long as the other", file)
		}
	}
}

func source(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	code := ""
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code += string(text)
	}
	return code
}
