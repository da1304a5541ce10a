package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
)

// The deployment of a function agrees with its code: a condition with the name of a
// different operation refuses every call, and a table's name that is missing stops
// the process.
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
			check.Equal(t, allowed, operations)
			check.Equal(t, len(operations) == 0, f.Table() == "", "a relay has no operation")
			check.Equal(t, f.Groups(), regexp.MustCompile(`dynamo\.Options\{[^}]*\bGroup:`).MatchString(code), "group commit")

			for _, m := range regexp.MustCompile(`os\.Getenv\("([A-Z_]+_(?:TABLE|QUEUE|URL))"\)`).FindAllStringSubmatch(code, -1) {
				// With DATABASE_URL, the records are in PostgreSQL and not in the table
				// that is deployed here.
				if m[1] != "DATABASE_URL" {
					check.Contains(t, variables, m[1]+":")
				}
			}
		})
	}
}

func TestOrdersRetentionIsStated(t *testing.T) {
	retention := regexp.MustCompile(`Retention:\s+(28 \* 24 \* time\.Hour)`)
	for _, file := range []string{"main.go", "../../../examples/orders/main.go"} {
		check.Equal(t, retention.MatchString(read(t, file)), true, file)
	}
	check.Contains(t, read(t, "../../terraform/examples/main.tf"), "retention_seconds = 28 * 24 * 60 * 60 #")
}

// jsii no longer supports Node 20.
func TestTextsAskForASupportedNode(t *testing.T) {
	const oldest = 22
	root := "../../.."
	files, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	check.Must(t, err)
	for _, file := range []string{"README.md", "CONTRIBUTING.md", "Makefile", "infra/doc.go"} {
		files = append(files, filepath.Join(root, file))
	}
	said := 0
	for _, file := range files {
		for _, m := range regexp.MustCompile(`Node (\d+)( or later)?`).FindAllStringSubmatch(read(t, file), -1) {
			if version, err := strconv.Atoi(m[1]); err != nil || version < oldest || m[2] == "" {
				t.Errorf("%s says %q, want %d or later", file, m[0], oldest)
			}
			said++
		}
	}
	if said == 0 {
		t.Error("no text says which Node it needs")
	}
}

func source(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	check.Must(t, err)
	code := ""
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			code += read(t, file)
		}
	}
	return code
}
